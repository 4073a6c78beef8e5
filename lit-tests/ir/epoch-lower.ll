; Lowered, a marker is one load and one branch that is not taken; leaving and entering likewise.
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,covsched-instrument<no-bitcode>,covsched-lower,verify' -S < %s -o %t.ll
; RUN: %FileCheck %s < %t.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-lower,epoch-markers,verify' -S < %t.ll -o %t.again.ll
; RUN: %opt -passes=verify -S < %t.ll -o %t.read.ll && diff %t.read.ll %t.again.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs>' -disable-output < %t.ll
target triple = "x86_64-pc-linux-gnu"

; CHECK-LABEL: define void @locks(
; CHECK: loop:
; CHECK-NEXT: %[[BYTE:.*]] = load i8, ptr @covsched_active, align 1, !nosanitize
; CHECK-NEXT: %[[BUSY:.*]] = icmp eq i8 %[[BYTE]], 1
; CHECK-NEXT: br i1 %[[BUSY]], label %[[THEN:.*]], label %[[CONT:.*]], !prof ![[UNLIKELY:[0-9]+]]
; CHECK: [[THEN]]:
; CHECK-NEXT: call void @covsched_epoch_marker(i64 {{-?[0-9]+}})
; CHECK-NEXT: br label %[[CONT]]
; CHECK: [[CONT]]:
; CHECK-NEXT: call i32 @covsched_pthread_mutex_lock(ptr %m, i64
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
; CHECK: %[[LEAVE:.*]] = call i32 @covsched_epoch_leave()
; CHECK: %[[LEFT:.*]] = phi i32 [ 0, %{{.*}} ], [ %[[LEAVE]], %{{.*}} ]
; CHECK-NEXT: call i64 @read(
; CHECK-NEXT: load i8, ptr @covsched_active
; CHECK: call void @covsched_epoch_enter(i32 %[[LEFT]])
define i64 @reads(i32 %f, ptr %p) {
  %r = call i64 @read(i32 %f, ptr %p, i64 1)
  ret i64 %r
}
; CHECK: ![[UNLIKELY]] = !{!"branch_weights", i32 1, i32 1048576}
declare i32 @pthread_mutex_lock(ptr)
declare i64 @read(i32, ptr, i64)
