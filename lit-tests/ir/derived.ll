; Calls that may come to a synchronization get markers; exceptions and longjmps set the call stack back.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,verify' -S %s | %FileCheck %s
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,covsched-lower,verify' -disable-output %s
target triple = "x86_64-pc-linux-gnu"

define internal void @locks(ptr %m) {
  %r = call i32 @pthread_mutex_lock(ptr %m)
  ret void
}
define internal void @computes(ptr %m) {
  %r = call i32 @puts(ptr %m)
  ret void
}
define weak void @replaceable(ptr %m) {
  ret void
}
; Recursion, and synchronization two calls away.
; CHECK-LABEL: define internal void @even(
; CHECK: call i32 @covsched_derived_enter
; CHECK-NEXT: call void @odd(ptr %m)
define internal void @even(ptr %m) {
  call void @odd(ptr %m)
  ret void
}
define internal void @odd(ptr %m) {
  call void @even(ptr %m)
  call void @locks(ptr %m)
  ret void
}

; CHECK-LABEL: define void @calls(
; CHECK-NEXT: %[[A:.*]] = call i32 @covsched_derived_enter(i64 {{-?[0-9]+}}) #[[NOMERGE:[0-9]+]]
; CHECK-NEXT: call void @locks(ptr %m)
; CHECK-NEXT: call void @covsched_derived_leave(i32 %[[A]]) #[[NOMERGE]]
; CHECK-NEXT: call void @computes(ptr %m)
; CHECK-NEXT: %[[B:.*]] = call i32 @covsched_derived_enter(i64
; CHECK-NEXT: call void @even(ptr %m)
; CHECK-NEXT: call void @covsched_derived_leave(i32 %[[B]])
; CHECK-NEXT: %[[C:.*]] = call i32 @covsched_derived_enter(i64
; CHECK-NEXT: call void @replaceable(ptr %m)
; CHECK-NEXT: call void @covsched_derived_leave(i32 %[[C]])
; CHECK-NEXT: %[[D:.*]] = call i32 @covsched_derived_enter(i64
; CHECK-NEXT: call void @unknown(ptr %m)
; CHECK-NEXT: call void @covsched_derived_leave(i32 %[[D]])
; CHECK-NEXT: ret void
define void @calls(ptr %m) {
  call void @locks(ptr %m)
  call void @computes(ptr %m)
  call void @even(ptr %m)
  call void @replaceable(ptr %m)
  call void @unknown(ptr %m)
  ret void
}

; No leave where control does not come.
; CHECK-LABEL: define void @gives_up(
; CHECK-NEXT: call i32 @covsched_derived_enter
; CHECK-NEXT: call void @unknown
; CHECK-NEXT: unreachable
define void @gives_up(ptr %m) {
  call void @unknown(ptr %m)
  unreachable
}

; Two invokes with one landing pad and one normal successor.
; CHECK-LABEL: define i32 @catches(
; CHECK: %[[BASE:.*]] = call i32 @covsched_derived_depth()
; CHECK: %[[E:.*]] = call i32 @covsched_derived_enter(i64
; CHECK-NEXT: invoke void @unknown(ptr %m)
; CHECK-NEXT: to label %[[AFTER:.*]] unwind label %pad
; CHECK: [[AFTER]]:
; CHECK-NEXT: call void @covsched_derived_leave(i32 %[[E]])
; CHECK: done:
; CHECK-NEXT: phi i32
; CHECK: pad:
; CHECK-NEXT: landingpad
; CHECK-NEXT: catch ptr null
; CHECK-NEXT: call void @covsched_derived_leave(i32 %[[BASE]])
; CHECK-NEXT: %[[F:.*]] = call i32 @covsched_derived_enter(i64
; CHECK-NEXT: call void @unknown(ptr null)
; CHECK-NEXT: call void @covsched_derived_leave(i32 %[[F]])
; CHECK-NOT: covsched_derived_leave(i32 %[[BASE]])
; CHECK: ret i32 -1
define i32 @catches(i1 %c, ptr %m) personality ptr @__gxx_personality_v0 {
  br i1 %c, label %a, label %b
a:
  invoke void @unknown(ptr %m) to label %done unwind label %pad
b:
  invoke void @unknown(ptr %m) to label %done unwind label %pad
done:
  %r = phi i32 [ 1, %a ], [ 2, %b ]
  ret i32 %r
pad:
  %l = landingpad { ptr, i32 } catch ptr null
  call void @unknown(ptr null)
  ret i32 -1
}

; A landing pad that only calls of known functions reach needs no reset.
; CHECK-LABEL: define void @catches_nothing_derived(
; CHECK-NOT: covsched_derived
; CHECK: ret void
define void @catches_nothing_derived(ptr %p) personality ptr @__gxx_personality_v0 {
  %q = invoke ptr @_Znwm(i64 8) to label %done unwind label %pad
done:
  ret void
pad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}

; CHECK-LABEL: define void @jumps_back(
; CHECK-NEXT: %[[DEPTH:.*]] = call i32 @covsched_derived_depth()
; CHECK-NEXT: call i32 @_setjmp(ptr %env)
; CHECK-NEXT: call void @covsched_derived_leave(i32 %[[DEPTH]])
; CHECK-NEXT: call i32 @covsched_derived_enter
define void @jumps_back(ptr %env) {
  %r = call i32 @_setjmp(ptr %env) returns_twice
  call void @unknown(ptr %env)
  ret void
}

; CHECK: attributes #[[NOMERGE]] = { nomerge "call-inline-cost"="0" }
declare i32 @pthread_mutex_lock(ptr)
declare i32 @puts(ptr)
declare void @unknown(ptr)
declare ptr @_Znwm(i64)
declare i32 @_setjmp(ptr) returns_twice
declare i32 @__gxx_personality_v0(...)
