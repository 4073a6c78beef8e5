; At the end of the pipeline a marker is behind one byte: in a version of its own, or behind a test of its own where runs need it that
; are not recorded (versions.ll has more). Hooks that replace calls are not.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,covsched-lower,verify' -S %s | %FileCheck %s
target triple = "x86_64-pc-linux-gnu"

; The byte fills a cache line, so that nothing that the program writes is beside it.
; CHECK: @covsched_active = linkonce_odr hidden global { i8, [63 x i8] } zeroinitializer, {{.*}}comdat, align 64

; Allocas stay in the entry block, where they cost nothing.
; CHECK-LABEL: define i32 @main(
; CHECK-NEXT: %a = alloca i32
; CHECK-NEXT: %b = alloca [4 x i64]
; Derived calls matter only to a recording.
; CHECK-NEXT: %[[DERIVED:.*]] = load i8, ptr @covsched_active
; CHECK-NEXT: icmp eq i8 %[[DERIVED]], 1
; CHECK-NEXT: br i1 %{{.*}}, label %recorded, label %{{.*}}, !prof ![[UNLIKELY:[0-9]+]]
; CHECK: %[[BYTE:.*]] = load i8, ptr @covsched_active, align 1, !nosanitize
; CHECK-NEXT: %[[BUSY:.*]] = icmp ne i8 %[[BYTE]], 0
; CHECK-NEXT: br i1 %[[BUSY]], label %[[THEN:.*]], label %[[CONT:.*]], !prof ![[UNLIKELY]]
; CHECK: [[THEN]]:
; CHECK-NEXT: %[[T:.*]] = call i32 @covsched_main_enter(i64 {{-?[0-9]+}})
; CHECK-NEXT: br label %[[CONT]]
; CHECK: [[CONT]]:
; CHECK-NEXT: %[[PHI:.*]] = phi i32 [ 0, %{{.*}} ], [ %[[T]], %[[THEN]] ]
; CHECK: call i32 @covsched_pthread_mutex_lock(ptr %a, i64
; CHECK-NEXT: call void @unknown(ptr %b)
; CHECK: call void @covsched_thread_exit(i32 %[[PHI]], i64
; CHECK: ret i32 0
; CHECK: recorded:
; CHECK-NEXT: musttail call i32 @main.recorded()
define i32 @main() {
  %a = alloca i32
  %r = call i32 @pthread_mutex_lock(ptr %a)
  %b = alloca [4 x i64]
  call void @unknown(ptr %b)
  ret i32 0
}

; A block whose address is taken, and a landing pad, are split like others.
; CHECK-LABEL: define void @pads(
; CHECK: landingpad
; CHECK-NEXT: cleanup
; CHECK-NEXT: load i8, ptr @covsched_active
define void @pads(ptr %p, ...) personality ptr @__gxx_personality_v0 {
  indirectbr ptr blockaddress(@pads, %a), [label %a]
a:
  invoke void @unknown(ptr %p) to label %done unwind label %pad
done:
  ret void
pad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}

; CHECK-LABEL: define internal i32 @main.recorded(
; CHECK-NOT: covsched_active
; CHECK: call i32 @covsched_main_enter
; CHECK: call i32 @covsched_derived_enter
; CHECK-NEXT: call void @unknown(ptr %b)
; CHECK-NEXT: call void @covsched_derived_leave
; CHECK-NEXT: call void @covsched_thread_exit
; CHECK: ![[UNLIKELY]] = !{!"branch_weights", i32 1, i32 1048576}
declare i32 @pthread_mutex_lock(ptr)
declare void @unknown(ptr)
declare i32 @__gxx_personality_v0(...)
