; What a call keeps when its hook takes its place: attributes, bundles, tail kind, name, invoke-ness, and the
; declaration's promises.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,verify' -S %s | %FileCheck %s
target triple = "x86_64-pc-linux-gnu"

; CHECK-LABEL: define i32 @keeps_attributes(
; CHECK: %r = tail call noundef i32 @covsched_pthread_mutex_lock(ptr noundef nonnull %m, i64 {{-?[0-9]+}}) #[[NOUNWIND:[0-9]+]] [ "deopt"(i32 7) ]
; CHECK: ret i32 %r
define i32 @keeps_attributes(ptr %m) {
  %r = tail call noundef i32 @pthread_mutex_lock(ptr noundef nonnull %m) nounwind [ "deopt"(i32 7) ]
  ret i32 %r
}

; CHECK-LABEL: define i32 @keeps_invoke(
; CHECK: %r = invoke i32 @covsched_pthread_join(i64 %t, ptr null, i64 {{-?[0-9]+}})
; CHECK-NEXT: to label %ok unwind label %bad
define i32 @keeps_invoke(i64 %t) personality ptr @__gxx_personality_v0 {
  %r = invoke i32 @pthread_join(i64 %t, ptr null) to label %ok unwind label %bad
ok:
  ret i32 %r
bad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}

; An old-style declaration: the call's own arguments count.
; CHECK-LABEL: define i32 @without_prototype(
; CHECK: call i32 @covsched_pthread_mutex_unlock(ptr %m, i64
define i32 @without_prototype(ptr %m) {
  %r = call i32 (ptr, ...) @pthread_mutex_unlock(ptr %m)
  ret i32 %r
}

; A declaration without the result.
; CHECK-LABEL: define void @without_result(
; CHECK: call i32 @covsched_sem_post(ptr %s, i64
define void @without_result(ptr %s) {
  call void @sem_post(ptr %s)
  ret void
}

; CHECK-LABEL: define void @never_returns(
; CHECK: call void @covsched__exit(i32 3, i64 {{-?[0-9]+}})
; CHECK-NEXT: unreachable
define void @never_returns() {
  call void @_exit(i32 3)
  unreachable
}

; CHECK-DAG: declare i32 @covsched_pthread_mutex_lock(ptr, i64) #[[DECLARED:[0-9]+]]
; CHECK-DAG: declare void @covsched__exit(i32, i64) #[[NORETURN:[0-9]+]]
; CHECK-DAG: declare void @covsched_register(ptr){{$}}
; CHECK-DAG: attributes #[[DECLARED]] = { nounwind }
; CHECK-DAG: attributes #[[NORETURN]] = { cold noreturn nounwind }
; CHECK-DAG: attributes #[[NOUNWIND]] = { nomerge nounwind }

declare i32 @pthread_mutex_lock(ptr) nounwind
declare i32 @pthread_mutex_unlock(...)
declare i32 @pthread_join(i64, ptr)
declare extern_weak void @sem_post(ptr)
declare void @_exit(i32) noreturn cold nounwind
declare i32 @__gxx_personality_v0(...)
