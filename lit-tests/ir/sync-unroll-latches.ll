; Loops that go back to their start by something else than a plain branch, or from several places: they get one plain
; latch first. Values that are used after the loop, and values that go around it, stay right.
; RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=2;verbose>,verify' -S %s -o %t.ll 2> %t.err
; RUN: %FileCheck %s < %t.ll
; RUN: %FileCheck %s --check-prefix=SAYS < %t.err
; RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=2>,sync-unroll<factor=2>,verify' -S %s -o %t.again.ll
; RUN: diff %t.ll %t.again.ll
target triple = "x86_64-pc-linux-gnu"

declare i32 @pthread_mutex_lock(ptr)
declare i32 @library(ptr)
declare i32 @__gxx_personality_v0(...)

; SAYS: invoke_back: loop unrolled 2 times with all exits
; CHECK-LABEL: define i32 @invoke_back(
; CHECK-COUNT-2: invoke i32 @pthread_mutex_lock(
; CHECK-NOT: @pthread_mutex_lock(
define i32 @invoke_back(ptr %m) personality ptr @__gxx_personality_v0 {
entry:
  br label %loop
loop:
  %before = phi i32 [ 0, %entry ], [ %l, %loop ]
  %l = invoke i32 @pthread_mutex_lock(ptr %m) to label %loop unwind label %lands
lands:
  %p = landingpad { ptr, i32 } catch ptr null
  ret i32 %before
}

; SAYS: switch_back: loop unrolled 2 times with all exits
; CHECK-LABEL: define i32 @switch_back(
; CHECK-COUNT-2: call i32 @pthread_mutex_lock(
; CHECK-NOT: @pthread_mutex_lock(
define i32 @switch_back(ptr %m) {
entry:
  br label %loop
loop:
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ], [ %more, %loop ], [ 7, %other ]
  %l = call i32 @pthread_mutex_lock(ptr %m)
  %more = add i32 %sum, %l
  switch i32 %more, label %end [ i32 1, label %loop
                                 i32 2, label %loop
                                 i32 3, label %other ]
other:
  br label %loop
end:
  ret i32 %more
}

; Both ways stay inside of the loop.
; SAYS: no_exit_back: loop unrolled 2 times with all exits
; CHECK-LABEL: define i32 @no_exit_back(
; CHECK-COUNT-2: call i32 @pthread_mutex_lock(
; CHECK-NOT: @pthread_mutex_lock(
define i32 @no_exit_back(ptr %m) {
entry:
  br label %loop
loop:
  %turn = phi i32 [ 0, %entry ], [ %next, %maybe ], [ %next, %other ]
  %l = call i32 @pthread_mutex_lock(ptr %m)
  %next = add i32 %turn, 1
  %done = icmp eq i32 %l, 0
  br i1 %done, label %end, label %maybe
maybe:
  %k = call i32 @library(ptr %m)
  %c = icmp eq i32 %k, 0
  br i1 %c, label %loop, label %other
other:
  store volatile i32 %k, ptr %m
  br label %loop
end:
  ret i32 %turn
}

; The number of turns is known before: what does not divide by two is done apart.
; SAYS: counted_down: loop unrolled 2 times with remainder
; CHECK-LABEL: define i32 @counted_down(
; CHECK-COUNT-3: call i32 @pthread_mutex_lock(
; CHECK-NOT: @pthread_mutex_lock(
define i32 @counted_down(ptr %m, i32 %n) {
entry:
  br label %loop
loop:
  %left = phi i32 [ %n, %entry ], [ %less, %loop ]
  %l = call i32 @pthread_mutex_lock(ptr %m)
  %less = add nsw i32 %left, -1
  %c = icmp ne i32 %less, 0
  br i1 %c, label %loop, label %end
end:
  ret i32 %l
}
