; Thread functions and main get an entry and exits.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,verify' -S %s | %FileCheck %s
target triple = "x86_64-pc-linux-gnu"

@pool = global ptr @worker_of_pool

; CHECK-LABEL: define i32 @main(
; CHECK-NEXT: %t = alloca i64
; CHECK-NEXT: %[[M:.*]] = call i32 @covsched_main_enter(i64 [[ENTRY:-?[0-9]+]])
; CHECK: call void @covsched_thread_exit(i32 %[[M]], i64 [[EXIT:-?[0-9]+]])
; CHECK-NEXT: ret i32 0
; CHECK: call void @covsched_thread_exit(i32 %[[M]], i64
; CHECK-NOT: i64 [[EXIT]]
; CHECK-NEXT: ret i32 1
define i32 @main(i1 %c) {
  %t = alloca i64
  %w = select i1 %c, ptr @chosen, ptr @other
  %r = call i32 @pthread_create(ptr %t, ptr null, ptr %w, ptr null)
  %s = call i32 @thrd_create(ptr %t, ptr @c11, ptr null)
  br i1 %c, label %a, label %b
a:
  ret i32 0
b:
  ret i32 1
}

; Passed to pthread_create: an entry whatever the type.
; CHECK-LABEL: define internal i64 @chosen(
; CHECK-NEXT: %[[T:.*]] = call i32 @covsched_thread_enter(i64
; CHECK-NEXT: call void @covsched_thread_exit(i32 %[[T]], i64
; CHECK-NEXT: ret i64 0
define internal i64 @chosen(i64 %p) {
  ret i64 0
}
; CHECK-LABEL: define internal ptr @other(
; CHECK-NEXT: call i32 @covsched_thread_enter(i64
define internal ptr @other(ptr %p) {
  ret ptr null
}
; CHECK-LABEL: define internal i32 @c11(
; CHECK-NEXT: call i32 @covsched_thread_enter(i64
define internal i32 @c11(ptr %p) {
  ret i32 0
}

; Its address is data.
; CHECK-LABEL: define internal void @worker_of_pool(
; CHECK-NEXT: call i32 @covsched_thread_enter(i64
define internal void @worker_of_pool(ptr %p) {
  ret void
}

; Another file may pass it.
; CHECK-LABEL: define ptr @worker_for_others(
; CHECK-NEXT: call i32 @covsched_thread_enter(i64
define ptr @worker_for_others(ptr %p) {
  %r = call i32 @puts(ptr %p)
  ret ptr null
}
; CHECK-LABEL: define ptr @_ZN3app6workerEPv(
; CHECK-NEXT: call i32 @covsched_thread_enter(i64
define ptr @_ZN3app6workerEPv(ptr %p) {
  %r = call i32 @puts(ptr %p)
  ret ptr null
}
; But not these: a getter, a member.
; CHECK-LABEL: define ptr @getter(
; CHECK-NEXT: ret ptr %p
define ptr @getter(ptr %p) {
  ret ptr %p
}
; CHECK-LABEL: define ptr @_ZN3app4findEv(
; CHECK-NEXT: call i32 @puts
; CHECK-NEXT: ret ptr null
define ptr @_ZN3app4findEv(ptr %this) {
  %r = call i32 @puts(ptr %this)
  ret ptr null
}

; What libstdc++'s thread function calls.
; CHECK-LABEL: define linkonce_odr void @_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEE6_M_runEv(
; CHECK-NEXT: call i32 @covsched_thread_enter(i64
define linkonce_odr void @_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEE6_M_runEv(ptr %this) {
  ret void
}

; CHECK: declare i32 @covsched_main_enter(i64) #[[MARKER:[0-9]+]]
; CHECK: attributes #[[MARKER]] = { nounwind willreturn memory(inaccessiblemem: readwrite) }
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @thrd_create(ptr, ptr, ptr)
declare i32 @puts(ptr)
