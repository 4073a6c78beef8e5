; Lowered, markers are in the recorded version, or one load and one branch that is not taken; leaving and entering likewise. What looks
; for markers in such a module, finds them.
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,covsched-instrument<no-bitcode>,covsched-lower,verify' -S < %s -o %t.ll
; RUN: %FileCheck %s < %t.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-lower,epoch-markers,verify' -S < %t.ll -o %t.again.ll
; RUN: %opt -passes=verify -S < %t.ll -o %t.read.ll && diff %t.read.ll %t.again.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs>' -disable-output < %t.ll
target triple = "x86_64-pc-linux-gnu"

; CHECK-LABEL: define void @locks(
; CHECK-NEXT: %[[BYTE:.*]] = load i8, ptr @covsched_active, align 1, !nosanitize
; CHECK-NEXT: %[[BUSY:.*]] = icmp eq i8 %[[BYTE]], 1
; CHECK-NEXT: br i1 %[[BUSY]], label %recorded, label %{{.*}}, !prof ![[UNLIKELY:[0-9]+]]
; CHECK: loop:
; CHECK-NEXT: call i32 @covsched_pthread_mutex_lock(ptr %m, i64
; CHECK: recorded:
; CHECK-NEXT: musttail call void @locks.recorded(ptr %m, i1 %c)
define void @locks(ptr %m, i1 %c) {
  br label %loop
loop:
  %r = call i32 @pthread_mutex_lock(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; CHECK-LABEL: define i64 @reads(
; CHECK-NEXT: load i8, ptr @covsched_active
; CHECK-NEXT: icmp eq i8 %{{.*}}, 1
; CHECK-NEXT: br i1
; CHECK: call i64 @read(
; CHECK-NEXT: ret i64
define i64 @reads(i32 %f, ptr %p) {
  %r = call i64 @read(i32 %f, ptr %p, i64 1)
  ret i64 %r
}
; With `...` there is one version.
; CHECK-LABEL: define i64 @reads_too(
; CHECK-NEXT: load i8, ptr @covsched_active
; CHECK-NEXT: icmp eq i8 %{{.*}}, 1
; CHECK-NEXT: br i1
; CHECK: %[[LEAVE:.*]] = call i32 @covsched_epoch_leave()
; CHECK: %[[LEFT:.*]] = phi i32 [ 0, %{{.*}} ], [ %[[LEAVE]], %{{.*}} ]
; CHECK-NEXT: call i64 @read(
; CHECK-NEXT: load i8, ptr @covsched_active
; CHECK: call void @covsched_epoch_enter(i32 %[[LEFT]])
define i64 @reads_too(i32 %f, ptr %p, ...) {
  %r = call i64 @read(i32 %f, ptr %p, i64 1)
  ret i64 %r
}

; What only these versions call has no test. A loop that waits for memory stays as it is, too.
; CHECK-LABEL: define internal void @spins(
; CHECK-NOT: covsched
; CHECK: }
define internal void @spins(ptr %p, ptr %m) {
  br label %loop
loop:
  %v = load atomic i32, ptr %p seq_cst, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %end
end:
  ret void
}
define void @calls(ptr %p, ptr %m) {
  %r = call i32 @pthread_mutex_lock(ptr %m)
  %e = call i64 @read(i32 0, ptr %p, i64 1)
  call void @spins(ptr %p, ptr %m)
  ret void
}

; CHECK-LABEL: define internal void @locks.recorded(
; CHECK: loop:
; CHECK-NEXT: call void @covsched_epoch_marker(i64 {{-?[0-9]+}})
; CHECK-NEXT: call i32 @covsched_pthread_mutex_lock(ptr %m, i64
; CHECK-LABEL: define internal i64 @reads.recorded(
; CHECK-NEXT: %[[LEFT:.*]] = call i32 @covsched_epoch_leave()
; CHECK-NEXT: call i64 @read(
; CHECK-NEXT: call void @covsched_epoch_enter(i32 %[[LEFT]])
; CHECK-LABEL: define internal void @spins.recorded(
; CHECK: call void @covsched_epoch_spin(
; CHECK: ![[UNLIKELY]] = !{!"branch_weights", i32 1, i32 1048576}
declare i32 @pthread_mutex_lock(ptr)
declare i64 @read(i32, ptr, i64)
