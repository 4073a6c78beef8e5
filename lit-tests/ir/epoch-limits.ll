; Functions into which nothing can be put are limits: named, located, counted, the rest is done, and the bound verifier
; says what is not bounded.
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers<verbose>,verify' -S < %s -o %t.ll 2> %t.err
; RUN: %FileCheck %s < %t.ll
; RUN: %FileCheck %s --check-prefix=ERR < %t.err
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %s 2>&1 | %FileCheck %s --check-prefix=TEXT
; RUN: %not %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs>' -disable-output %t.ll
target triple = "x86_64-pc-linux-gnu"
source_filename = "limits.c"
; ERR: covsched: limits.c: 2 markers, 4 loops: 0 trivial, 0 covered, 0 barrier, 0 spin; 0 recursions; 2 limits; 2 unbounded; limits: a naked function has no place for epoch markers (1, first: naked); a coroutine gets no epoch markers (1, first: coroutine)
; TEXT: loop - naked: limit: a naked function has no place for epoch markers; it may synchronize: pthread_cond_signal
; TEXT: limit - naked: a naked function has no place for epoch markers
; TEXT: unbounded - naked: a cycle without an epoch marker synchronizes: pthread_cond_signal

; CHECK-LABEL: define void @naked(
; CHECK-NOT: covsched
; CHECK: ret void
define void @naked(ptr %m) naked {
  br label %loop
loop:
  %r = call i32 @pthread_cond_signal(ptr %m)
  %c = icmp eq i32 %r, 0
  br i1 %c, label %loop, label %end
end:
  ret void
}
; CHECK-LABEL: define void @coroutine(
; CHECK-NOT: covsched
; CHECK: ret void
define void @coroutine(ptr %m, i1 %c) presplitcoroutine {
  br label %loop
loop:
  %r = call i32 @pthread_mutex_lock(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}
; CHECK-LABEL: define void @plain(
; CHECK: call void @covsched_epoch_marker(
define void @plain(ptr %m, i1 %c) {
  br label %loop
loop:
  %r = call i32 @pthread_mutex_lock(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}
; Somebody notifies without bounds, so waiting is not trivial.
; CHECK-LABEL: define void @waits(
; CHECK: call void @covsched_epoch_marker(
define void @waits(ptr %m, i1 %c) {
  br label %loop
loop:
  %r = call i32 @pthread_cond_wait(ptr %m, ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
