; Shapes of IR that front ends seldom make: where exactly a marker goes, and what is certain about callees.
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers<verbose>,verify,verify<covsched-epochs>' -S < %s -o %t.ll 2> %t.err
; RUN: %FileCheck %s < %t.ll
; RUN: %FileCheck %s --check-prefix=ERR < %t.err
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers<whole-program>,verify,verify<covsched-epochs;whole-program>' -S < %s | %FileCheck %s --check-prefix=WHOLE
target triple = "x86_64-pc-linux-gnu"
source_filename = "shapes.c"
; ERR: 2 limits; 0 unbounded; limits: a loop that longjmp makes gets no epoch marker (1, first: jumps); a library call that may block does not leave its epoch: it is a musttail call or a callbr (1, first: read)

; After PHIs; the latch is the header itself.
; CHECK-LABEL: define void @after_phis(
; CHECK: loop:
; CHECK-NEXT: phi i32
; CHECK-NEXT: call void @covsched_epoch_marker(
; CHECK-NEXT: call i32 @pthread_mutex_lock
define void @after_phis(ptr %m) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %n, %loop ]
  %r = call i32 @pthread_mutex_lock(ptr %m)
  %n = add i32 %i, 1
  %c = icmp eq i32 %n, 10
  br i1 %c, label %end, label %loop
end:
  ret void
}

; A header that is a landing pad.
; CHECK-LABEL: define void @header_is_a_landing_pad(
; CHECK: lands:
; CHECK-NEXT: landingpad
; CHECK-NEXT: catch ptr null
; CHECK-NEXT: call void @covsched_epoch_marker(
define void @header_is_a_landing_pad(ptr %m) personality ptr @__gxx_personality_v0 {
entry:
  invoke void @thrower() to label %end unwind label %lands
lands:
  %l = landingpad { ptr, i32 } catch ptr null
  %r = call i32 @pthread_mutex_lock(ptr %m)
  invoke void @thrower() to label %end unwind label %lands
end:
  ret void
}

; Two latches are one loop.
; CHECK-LABEL: define void @two_latches(
; CHECK: call void @covsched_epoch_marker(
; CHECK-NOT: call void @covsched_epoch_marker(
; CHECK-LABEL: define void @covers(
define void @two_latches(ptr %m, i1 %c, i1 %d) {
entry:
  br label %loop
loop:
  br i1 %c, label %one, label %other
one:
  %r = call i32 @pthread_mutex_lock(ptr %m)
  br i1 %d, label %loop, label %end
other:
  br label %loop
end:
  ret void
}

define void @covers(ptr %m) {
  call void @covsched_epoch_marker(i64 7)
  %r = call i32 @pthread_mutex_lock(ptr %m)
  ret void
}
define linkonce_odr void @covers_inline(ptr %m) {
  call void @covsched_epoch_marker(i64 8)
  %r = call i32 @pthread_mutex_lock(ptr %m)
  ret void
}
define weak void @covers_weak(ptr %m) {
  call void @covsched_epoch_marker(i64 9)
  %r = call i32 @pthread_mutex_lock(ptr %m)
  ret void
}
define available_externally void @covers_elsewhere(ptr %m) {
  call void @covsched_epoch_marker(i64 10)
  %r = call i32 @pthread_mutex_lock(ptr %m)
  ret void
}
@alias = alias void (ptr), ptr @covers
@weak_alias = weak alias void (ptr), ptr @covers
@indirect = ifunc void (ptr), ptr @resolver
define internal ptr @resolver() {
  ret ptr @covers
}

; CHECK-LABEL: define void @calls_covers(
; CHECK-NOT: covsched
; CHECK: ret void
define void @calls_covers(ptr %m, i1 %c) {
  br label %loop
loop:
  call void @covers(ptr %m)
  call void @alias(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}
; CHECK-LABEL: define void @calls_inline(
; CHECK: call void @covsched_epoch_marker(
; WHOLE-LABEL: define void @calls_inline(
; WHOLE-NOT: covsched_epoch_marker
; WHOLE: ret void
define void @calls_inline(ptr %m, i1 %c) {
  br label %loop
loop:
  call void @covers_inline(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}
; CHECK-LABEL: define void @calls_weak(
; CHECK: call void @covsched_epoch_marker(
; WHOLE-LABEL: define void @calls_weak(
; WHOLE-NOT: covsched_epoch_marker
; WHOLE: ret void
define void @calls_weak(ptr %m, i1 %c) {
  br label %loop
loop:
  call void @covers_weak(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}
; CHECK-LABEL: define void @calls_elsewhere(
; CHECK: call void @covsched_epoch_marker(
; WHOLE-LABEL: define void @calls_elsewhere(
; WHOLE: call void @covsched_epoch_marker(
define void @calls_elsewhere(ptr %m, i1 %c) {
  br label %loop
loop:
  call void @covers_elsewhere(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}
; CHECK-LABEL: define void @calls_by_other_names(
; CHECK: one:
; CHECK-NEXT: call void @covsched_epoch_marker(
; CHECK: two:
; CHECK-NEXT: call void @covsched_epoch_marker(
define void @calls_by_other_names(ptr %m, i1 %c) {
  br label %one
one:
  call void @weak_alias(ptr %m)
  br i1 %c, label %one, label %two
two:
  call void @indirect(ptr %m)
  br i1 %c, label %two, label %end
end:
  ret void
}

; Recursion by musttail goes down only, and nothing can stand behind it.
; CHECK-LABEL: define void @ends_in_itself(
; CHECK-NEXT: call void @covsched_epoch_marker(
; CHECK: musttail call void @ends_in_itself(
; CHECK-NEXT: ret void
define void @ends_in_itself(ptr %m) {
  %r = call i32 @pthread_mutex_lock(ptr %m)
  musttail call void @ends_in_itself(ptr %m)
  ret void
}

; Allocas stay at the head of the entry.
; CHECK-LABEL: define void @has_locals(
; CHECK-NEXT: alloca i32
; CHECK-NEXT: call void @covsched_epoch_marker(
define void @has_locals(ptr %m) {
  %a = alloca i32
  %r = call i32 @pthread_mutex_lock(ptr %m)
  call void @has_locals(ptr %a)
  ret void
}

; CHECK-LABEL: define i64 @ends_in_read(
; CHECK-NEXT: musttail call i64 @read(
define i64 @ends_in_read(i32 %f, ptr %p, i64 %n) {
  %r = musttail call i64 @read(i32 %f, ptr %p, i64 %n)
  ret i64 %r
}
; An invoke: leaving before it, entering where it goes on, on no other way there.
; CHECK-LABEL: define void @invokes_read(
; CHECK: %[[LEFT:.*]] = call i32 @covsched_epoch_leave()
; CHECK-NEXT: invoke i64 @read(
; CHECK-NEXT: to label %[[AFTER:.*]] unwind label %lands
; CHECK: [[AFTER]]:
; CHECK-NEXT: call void @covsched_epoch_enter(i32 %[[LEFT]])
; CHECK-NEXT: br label %end
; CHECK: end:
; CHECK-NEXT: ret void
define void @invokes_read(i32 %f, ptr %p, i1 %c) personality ptr @__gxx_personality_v0 {
  br i1 %c, label %start, label %end
start:
  %r = invoke i64 @read(i32 %f, ptr %p, i64 1) to label %end unwind label %lands
end:
  ret void
lands:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}

; CHECK-LABEL: define void @jumps(
; CHECK-NOT: covsched
; CHECK: ret void
define void @jumps(ptr %m) {
  %s = call i32 @setjmp(ptr %m) returns_twice
  %r = call i32 @pthread_mutex_lock(ptr %m)
  ret void
}

declare i32 @__gxx_personality_v0(...)
declare void @thrower()
declare i32 @setjmp(ptr) returns_twice
declare i64 @read(i32, ptr, i64)
declare i32 @pthread_mutex_lock(ptr)
declare void @covsched_epoch_marker(i64)
