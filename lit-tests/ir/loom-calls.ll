; What becomes of calls: a thread is released where it may block, the switch is tested where it may have paused, and
; everything else is left alone.
; RUN: %opt -load-pass-plugin=%plugin -passes='loom<no-direct>,verify' -S %s | %FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-DAG: @covsched_loom_at = external dso_local thread_local(localexec) global i64
; What fast paths read fills cache lines of its own.
; CHECK-DAG: @covsched.loom.functions = internal global { [{{[0-9]+}} x i64], [{{[0-9]+}} x i8] } zeroinitializer, no_sanitize_address, no_sanitize_hwaddress, align 64
; CHECK-DAG: @covsched.loom.calls = internal global { [1 x ptr], [56 x i8] } { [1 x ptr] [ptr getelementptr inbounds (i8, ptr @covsched.loom.locations, i64 {{[0-9]+}})], [56 x i8] zeroinitializer }, {{.*}}align 64
; CHECK-DAG: @covsched.loom.unit = internal global {{.*}}section "covsched_loom_units"
; CHECK-DAG: @llvm.used = {{.*}}@covsched.loom.unit
; CHECK-DAG: @llvm.global_ctors = {{.*}}@covsched.loom.register
; CHECK-DAG: @llvm.global_dtors = {{.*}}@covsched.loom.unregister

; Without debug info there are no slots, thus no slow path: what is left is all that can be seen here.
; CHECK-LABEL: define internal i64 @blocks(
; CHECK-NEXT: br label
; CHECK: store volatile i64 ptrtoint (ptr {{.*}}@covsched.loom.locations{{.*}} to i64), ptr @covsched_loom_at, align 8, !nosanitize
; CHECK-NEXT: %r = call i64 @read(
; CHECK: store volatile i64 1, ptr @covsched_loom_at
; CHECK-NEXT: %[[P:.*]] = load volatile i8, ptr @covsched_loom_pending, align 1, !nosanitize
; CHECK-NEXT: %[[N:.*]] = icmp ne i8 %[[P]], 0
; CHECK-NEXT: br i1 %[[N]], label %[[COLD:.*]], label %[[ON:.*]], !prof
; CHECK: ret i64 %r
; CHECK: [[COLD]]:
; CHECK-NEXT: %[[AT:.*]] = call ptr asm sideeffect "leaq {{.*}}(ptr {{.*}}@covsched.loom.locations
; CHECK-NEXT: call preserve_allcc void @covsched_loom_reacquire(ptr %[[AT]])
define internal i64 @blocks(i32 %fd, ptr %p) {
  %r = call i64 @read(i32 %fd, ptr %p, i64 1)
  ret i64 %r
}

; CHECK-LABEL: define internal double @computes(
; CHECK-NOT: covsched_loom
; CHECK: }
define internal double @computes(ptr %p) {
  %n = call i64 @strlen(ptr %p)
  %d = uitofp i64 %n to double
  %s = call double @sin(double %d)
  call void asm sideeffect "nop", ""()
  %u = call i32 @pthread_mutex_unlock(ptr %p)
  ret double %s
}

; What another unit may define has a cell: the runtime knows better.
; CHECK-LABEL: define internal void @asks(
; CHECK: %[[C:.*]] = load volatile i64, ptr @covsched.loom.calls
; CHECK-NEXT: store volatile i64 %[[C]], ptr @covsched_loom_at
; CHECK-NEXT: call void @elsewhere()
; CHECK: store volatile i64 1, ptr @covsched_loom_at
define internal void @asks() {
  call void @elsewhere()
  ret void
}

; CHECK-LABEL: define internal void @system(
; CHECK: store volatile i64 ptrtoint
; CHECK-NEXT: call i64 asm sideeffect "syscall"
define internal void @system() {
  %r = call i64 asm sideeffect "syscall", "={rax},{rax}"(i64 35)
  ret void
}

; Nothing can stand between a musttail call and its return.
; CHECK-LABEL: define internal void @bound(
; CHECK: musttail call void @elsewhere()
; CHECK-NEXT: ret void
define internal void @bound() {
  musttail call void @elsewhere()
  ret void
}

; Entered from outside: a thread that does not run instrumented code goes through a function of its own.
; CHECK-LABEL: define i32 @main(
; CHECK-NEXT: %[[AT:.*]] = load i64, ptr @covsched_loom_at, align 8, !nosanitize
; CHECK-NEXT: %[[OUT:.*]] = icmp ne i64 %[[AT]], 1
; CHECK-NEXT: br i1 %[[OUT]], label %outside, label %inside, !prof
; CHECK: call void @number.body(i32 3)
; CHECK: outside:
; CHECK-NEXT: %[[R:.*]] = musttail call i32 @main.outside(i32 %argc, ptr %argv)
; CHECK-NEXT: ret i32 %[[R]]
define i32 @main(i32 %argc, ptr %argv) nounwind {
  %r = call i64 @blocks(i32 0, ptr %argv)
  %d = call double @computes(ptr %argv)
  call void @asks()
  call void @system()
  call void @bound()
  %old = call ptr @signal(i32 10, ptr @handler)
  call void @number(i32 3)
  call void @by_pointer(ptr @handler, ptr @number)
  ret i32 0
}

; What is called through a pointer may be a signal handler by its type: its wrapper must not take the thread for interrupted. Other pointers
; are called as they are.
; CHECK-LABEL: define internal void @by_pointer(
; CHECK: store volatile i64 ptrtoint (ptr getelementptr {{.*}}@covsched.loom.locations{{.*}}, ptr @covsched_loom_at
; CHECK-NEXT: call void %handler(i32 1)
; CHECK: store volatile i64 1, ptr @covsched_loom_at
; CHECK: call void %other(i64 2)
; A call without a prototype, as clang makes it of `void (*f)()`; and a function that was done before, with another file at link time.
; CHECK: store volatile i64 ptrtoint (ptr {{.*}}@covsched.loom.locations{{.*}}, ptr @covsched_loom_at
; CHECK-NEXT: call void (i32, ...) %handler(i32 3)
; CHECK: store volatile i64 ptrtoint (ptr {{.*}}@covsched.loom.locations{{.*}}, ptr @covsched_loom_at
; CHECK-NEXT: call void @done(i32 4)
; CHECK: store volatile i64 1, ptr @covsched_loom_at
; CHECK: ret void
define internal void @by_pointer(ptr %handler, ptr %other) noinline {
  call void %handler(i32 1)
  call void %other(i64 2)
  call void (i32, ...) %handler(i32 3)
  call void @done(i32 4)
  ret void
}

define void @done(i32 %n) noinline "covsched-loom" {
  ret void
}

; A function of that type that other units see may be their handler. Who calls it by name comes to its code.
; CHECK-LABEL: define internal void @number.body(i32 %n)
define void @number(i32 %n) noinline {
  ret void
}

; A possible signal handler always goes through its wrapper, which has its name.
; CHECK-LABEL: define internal void @handler.body(i32 %n)
; CHECK-LABEL: define internal i32 @main.outside(
; CHECK: call void @covsched_loom_enter(ptr %[[O:.*]])
; CHECK: call i32 @main(
; CHECK-NEXT: call void @covsched_loom_leave(ptr %[[O]])
; CHECK-LABEL: define void @number(i32 %0)
; CHECK: call void @covsched_loom_handler_enter(
; CHECK: @number.body(i32 %0)
; CHECK-LABEL: define internal void @handler(i32 %0)
; CHECK: call void @covsched_loom_handler_enter(
; CHECK: @handler.body(i32 %0)
define internal void @handler(i32 %n) {
  ret void
}

declare i64 @read(i32, ptr, i64)
declare i64 @strlen(ptr)
declare double @sin(double)
declare i32 @pthread_mutex_unlock(ptr)
declare void @elsewhere()
declare ptr @signal(i32, ptr)
