; The address of a synchronizing function is data: it becomes the address of a wrapper, one a linked object, with a
; site that is the same in every unit. "Is it there?" still asks about the function itself.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,verify' -S %s | %FileCheck %s
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output %s 2>&1 | %FileCheck %s --check-prefix=SITES
target triple = "x86_64-pc-linux-gnu"

; CHECK: @table = global { i32, [2 x ptr] } { i32 1, [2 x ptr] [ptr @covsched.ref.pthread_mutex_lock, ptr @covsched.ref.pthread_mutex_unlock] }
@table = global { i32, [2 x ptr] } { i32 1, [2 x ptr] [ptr @pthread_mutex_lock, ptr @pthread_mutex_unlock] }
; CHECK: @llvm.compiler.used = appending global [1 x ptr] [ptr @pthread_mutex_lock]
@llvm.compiler.used = appending global [1 x ptr] [ptr @pthread_mutex_lock], section "llvm.metadata"

; CHECK-LABEL: define ptr @picks(
; CHECK-NEXT: select i1 %c, ptr @covsched.ref.pthread_mutex_lock, ptr @covsched.ref._ZNSt6thread4joinEv
define ptr @picks(i1 %c) {
  %f = select i1 %c, ptr @pthread_mutex_lock, ptr @_ZNSt6thread4joinEv
  ret ptr %f
}

; CHECK-LABEL: define i1 @asks(
; CHECK-NEXT: icmp ne ptr @pthread_cancel, null
; CHECK-NEXT: ret i1
define i1 @asks() {
  %c = icmp ne ptr @pthread_cancel, null
  ret i1 %c
}

; CHECK-LABEL: define void @calls_through(
; CHECK: %[[D:.*]] = call i32 @covsched_derived_enter(i64
; CHECK-NEXT: call i32 %f(ptr %m)
; CHECK-NEXT: call void @covsched_derived_leave(i32 %[[D]])
define void @calls_through(ptr %f, ptr %m) {
  %r = call i32 %f(ptr %m)
  ret void
}

; CHECK: define linkonce_odr hidden i32 @covsched.ref.pthread_mutex_lock(ptr %0) #[[OURS:[0-9]+]] comdat {
; CHECK-NEXT: %2 = call i32 @covsched_pthread_mutex_lock(ptr %0, i64 2768208446207111365)
; CHECK-NEXT: ret i32 %2
; CHECK: define linkonce_odr hidden void @covsched.ref._ZNSt6thread4joinEv(ptr %0) {{.*}}comdat {
; CHECK-NEXT: call void @covsched_std_thread_join(ptr %0, ptr @_ZNSt6thread4joinEv, i64
; CHECK-NEXT: ret void
; CHECK: define linkonce_odr hidden void @covsched.ref.exit(i32 %0) {{.*}}comdat {
; CHECK-NEXT: call void @covsched_exit(i32 %0, i64
; CHECK-NEXT: unreachable

; SITES-DAG: 266aa6ea4c6930c5 true - pthread_mutex_lock -> pthread_mutex_lock
; SITES-DAG: true - std::thread::join() -> std::thread::join()
; SITES-DAG: derived - calls_through -> *
define void @passes_exit(ptr %p) {
  %old = call ptr @signal(i32 15, ptr @exit)
  ret void
}

declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare extern_weak i32 @pthread_cancel(i64)
declare void @_ZNSt6thread4joinEv(ptr)
declare void @exit(i32)
declare ptr @signal(i32, ptr)
