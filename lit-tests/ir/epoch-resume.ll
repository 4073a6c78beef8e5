; Resuming or destroying a coroutine runs any coroutine of the module, and in the open world unknown code: a loop that does
; so synchronizes. In a whole program whose coroutines do not synchronize it does not.
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;whole-program>' -disable-output %s 2>&1 | %FileCheck %s
; RUN: sed 's/call i32 @pthread_mutex_lock(ptr %%m)/add i32 0, 0/' %s > %t.harmless.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.harmless.ll 2>&1 | %FileCheck %s
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;whole-program>' -disable-output %t.harmless.ll 2>&1 | %FileCheck %s --check-prefix=HARMLESS
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers<whole-program>,verify<covsched-epochs;whole-program>' -disable-output %s
; RUN: %not %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs;whole-program>' -disable-output %s 2>&1 | %FileCheck %s --check-prefix=UNBOUNDED
; CHECK-DAG: loop {{.*}}resumes: marker
; CHECK-DAG: loop {{.*}}destroys: marker
; CHECK: 2 markers, 2 loops
; HARMLESS: 0 markers, 0 loops
; UNBOUNDED: resumes
target triple = "x86_64-pc-linux-gnu"

declare i32 @pthread_mutex_lock(ptr)
declare void @llvm.coro.resume(ptr)
declare void @llvm.coro.destroy(ptr)

define internal void @coroutine(ptr %m) presplitcoroutine {
  %r = call i32 @pthread_mutex_lock(ptr %m)
  ret void
}

define void @resumes(ptr %handle, i32 %n) {
entry:
  br label %round

round:
  %i = phi i32 [ 0, %entry ], [ %j, %round ]
  call void @llvm.coro.resume(ptr %handle)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %round, label %end

end:
  ret void
}

define void @destroys(ptr %handle, i32 %n) {
entry:
  br label %round

round:
  %i = phi i32 [ 0, %entry ], [ %j, %round ]
  call void @llvm.coro.destroy(ptr %handle)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %round, label %end

end:
  ret void
}
