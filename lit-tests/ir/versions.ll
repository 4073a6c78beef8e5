; A function with markers that only a recording needs gets two versions, with one test; or keeps a test around each marker, for a reason
; that is counted.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-lower<verbose>,verify' -S %s -o %t.ll 2> %t.txt
; RUN: %FileCheck %s < %t.ll
; RUN: %FileCheck %s --check-prefix=COUNTS < %t.txt
; COUNTS: lower: 10 functions with two versions, 2 without a test; tests around markers: 1 done by loom, 1 variadic, 1 special, 1 not optimized, 1 optimized for size, 1 linked with others, 1 with labels that others know, 1 with calls that must not be duplicated, 1 with markers that are rarely reached
; Again, as at link time, nothing is left to do.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-lower<verbose>,verify' -S %t.ll -o %t.again.ll 2> %t.txt
; RUN: %opt -passes=verify -S %t.ll -o %t.read.ll && diff %t.read.ll %t.again.ll
; RUN: %FileCheck %s --check-prefix=AGAIN < %t.txt
; AGAIN: lower: 0 functions with two versions, 0 without a test
target triple = "x86_64-pc-linux-gnu"

$grouped = comdat any
$together = comdat any
@labels = internal constant [2 x ptr] [ptr blockaddress(@jumps, %one), ptr blockaddress(@jumps, %end)]
@known = constant [1 x ptr] [ptr blockaddress(@shown, %end)]
@with_together = internal constant i32 0, comdat($together)
@table = global ptr @taken

; The addresses of labels are in a table, of which each version has its own.
; CHECK: @labels.recorded = internal constant [2 x ptr] [ptr blockaddress(@jumps.recorded, %one), ptr blockaddress(@jumps.recorded, %end)]

; CHECK-LABEL: define i32 @calls(ptr noundef %p, i32 %n)
; CHECK-SAME: #[[TESTED:[0-9]+]]
; CHECK-NEXT: %a = alloca i32
; CHECK-NEXT: %[[BYTE:.*]] = load i8, ptr @covsched_active, align 1, !nosanitize
; CHECK-NEXT: %[[BUSY:.*]] = icmp eq i8 %[[BYTE]], 1
; CHECK-NEXT: br i1 %[[BUSY]], label %recorded, label %[[BODY:.*]], !prof ![[UNLIKELY:[0-9]+]]
; CHECK: [[BODY]]:
; CHECK-NEXT: call void @unknown(ptr %a)
; CHECK-NEXT: %r = call i32 @only_called(i32 %n)
; CHECK-NEXT: %s = call i32 @taken(i32 %n)
; CHECK-NEXT: ret i32 %r
; CHECK: recorded:
; CHECK-NEXT: %[[R:.*]] = musttail call i32 @calls.recorded(ptr noundef %p, i32 %n) #[[NOINLINE:[0-9]+]]
; CHECK-NEXT: ret i32 %[[R]]
define i32 @calls(ptr noundef %p, i32 %n) {
  %d = call i32 @covsched_derived_enter(i64 1)
  %a = alloca i32
  call void @unknown(ptr %a)
  call void @covsched_derived_leave(i32 %d)
  %e = call i32 @covsched_derived_enter(i64 2)
  %r = call i32 @only_called(i32 %n)
  call void @covsched_derived_leave(i32 %e)
  %s = call i32 @taken(i32 %n)
  ret i32 %r
}

; Called by functions with two versions only: each calls its like.
; CHECK-LABEL: define internal fastcc i32 @deeper(
; CHECK-NEXT: call void @unknown(ptr null)
; CHECK-NEXT: ret i32 %n
define internal fastcc i32 @deeper(i32 %n) {
  %d = call i32 @covsched_derived_enter(i64 3)
  call void @unknown(ptr null)
  call void @covsched_derived_leave(i32 %d)
  ret i32 %n
}
; CHECK-LABEL: define internal i32 @only_called(
; CHECK-NEXT: %r = call fastcc i32 @deeper(i32 %n)
; CHECK-NEXT: ret i32 %r
define internal i32 @only_called(i32 %n) {
  call void @covsched_epoch_marker(i64 4)
  %r = call fastcc i32 @deeper(i32 %n)
  ret i32 %r
}

; Its address is taken.
; CHECK-LABEL: define internal i32 @taken(
; CHECK-NEXT: load i8, ptr @covsched_active
define internal i32 @taken(i32 %n) {
  call void @covsched_epoch_marker(i64 5)
  ret i32 %n
}

; One of its callers has one version.
; CHECK-LABEL: define internal i32 @called_by_variadic(
; CHECK-NEXT: load i8, ptr @covsched_active
define internal i32 @called_by_variadic(i32 %n) {
  call void @covsched_epoch_marker(i64 6)
  ret i32 %n
}

; Nothing is tested on the way that comes to no marker, and not behind what may happen once only.
; CHECK-LABEL: define i32 @short_way(
; CHECK-NEXT: %v = load i32, ptr %p
; CHECK-NEXT: %c = icmp eq i32 %v, 0
; CHECK-NEXT: br i1 %c, label %short, label %long
; CHECK: long:
; CHECK-NEXT: load i8, ptr @covsched_active
; CHECK: store i32 1, ptr %p
; CHECK-NEXT: call void @unknown
; CHECK: short:
; CHECK-NEXT: store i32 2, ptr %p
; CHECK-NEXT: ret i32 0
; CHECK: recorded:
define i32 @short_way(ptr %p) {
  %v = load i32, ptr %p
  %c = icmp eq i32 %v, 0
  br i1 %c, label %short, label %long
long:
  store i32 1, ptr %p
  %d = call i32 @covsched_derived_enter(i64 7)
  call void @unknown(ptr %p)
  call void @covsched_derived_leave(i32 %d)
  ret i32 1
short:
  store i32 2, ptr %p
  ret i32 0
}

; A function that may be replaced; with what unwinds to it.
; CHECK-LABEL: define weak void @catches(
; CHECK-NEXT: load i8, ptr @covsched_active
; CHECK: invoke void @unknown(ptr %p)
; CHECK: cleanup
; CHECK-NEXT: resume
define weak void @catches(ptr %p) personality ptr @__gxx_personality_v0 {
  %b = call i32 @covsched_derived_depth()
  %d = call i32 @covsched_derived_enter(i64 8)
  invoke void @unknown(ptr %p) to label %done unwind label %pad
done:
  call void @covsched_derived_leave(i32 %d)
  ret void
pad:
  %l = landingpad { ptr, i32 } cleanup
  call void @covsched_derived_leave(i32 %b)
  resume { ptr, i32 } %l
}

; The markers of threads are for every run.
; CHECK-LABEL: define ptr @thread(
; CHECK: load i8, ptr @covsched_active
; CHECK: br i1 %{{.*}}, label %recorded,
; CHECK: icmp ne i8
; CHECK: call i32 @covsched_thread_enter(i64 9)
; CHECK: call void @unknown
; CHECK: icmp ne i8
; CHECK: call void @covsched_thread_exit
define ptr @thread(ptr %p) {
  %t = call i32 @covsched_thread_enter(i64 9)
  call void @covsched_epoch_marker(i64 10)
  call void @unknown(ptr %p)
  call void @covsched_thread_exit(i32 %t, i64 11)
  ret ptr %p
}

; CHECK-LABEL: define i32 @jumps(
; CHECK: load i8, ptr @covsched_active
; CHECK: getelementptr [2 x ptr], ptr @labels,
define i32 @jumps(i64 %n) {
  br label %next
next:
  %at = getelementptr [2 x ptr], ptr @labels, i64 0, i64 %n
  %to = load ptr, ptr %at
  indirectbr ptr %to, [label %one, label %end]
one:
  call void @covsched_epoch_marker(i64 12)
  br label %next
end:
  ret i32 0
}

; One of several copies: the recorded version has a group of its own, with which whichever copy of this one is linked can go.
; CHECK-LABEL: define linkonce_odr void @grouped(
; CHECK-SAME: comdat
; CHECK: musttail call void @grouped.recorded(
define linkonce_odr void @grouped(ptr %p) comdat {
  call void @covsched_epoch_marker(i64 13)
  ret void
}

; Those that keep their tests.
; CHECK-LABEL: define void @variadic(
; CHECK-NOT: @variadic.recorded
; CHECK: call void @covsched_epoch_marker(i64 14) #[[GUARDED:[0-9]+]]
define void @variadic(ptr %p, ...) {
  call void @covsched_epoch_marker(i64 14)
  %r = call i32 @called_by_variadic(i32 0)
  ret void
}
; CHECK-LABEL: define void @swift(
; CHECK: call void @covsched_epoch_marker(i64 15) #[[GUARDED]]
define void @swift(ptr swifterror %p) {
  call void @covsched_epoch_marker(i64 15)
  ret void
}
; CHECK-LABEL: define void @unoptimized(
; CHECK: call void @covsched_epoch_marker(i64 16) #[[GUARDED]]
define void @unoptimized() optnone noinline {
  call void @covsched_epoch_marker(i64 16)
  ret void
}
; CHECK-LABEL: define void @small(
; CHECK: call void @covsched_epoch_marker(i64 17) #[[GUARDED]]
define void @small() optsize {
  call void @covsched_epoch_marker(i64 17)
  ret void
}
; CHECK-LABEL: define void @slow_path(
; CHECK: call void @covsched_epoch_marker(i64 18) #[[GUARDED]]
define void @slow_path() "covsched-loom" {
  call void @covsched_epoch_marker(i64 18)
  ret void
}
; CHECK-LABEL: define linkonce_odr void @together(
; CHECK: call void @covsched_epoch_marker(i64 19) #[[GUARDED]]
define linkonce_odr void @together() comdat {
  call void @covsched_epoch_marker(i64 19)
  ret void
}
; CHECK-LABEL: define void @shown(
; CHECK: call void @covsched_epoch_marker(i64 20) #[[GUARDED]]
define void @shown() {
  br label %end
end:
  call void @covsched_epoch_marker(i64 20)
  ret void
}
; CHECK-LABEL: define void @once(
; CHECK: call void @covsched_epoch_marker(i64 21) #[[GUARDED]]
define void @once() {
  call void @covsched_epoch_marker(i64 21)
  call void @unknown(ptr null) noduplicate
  ret void
}
; A test at the entry would be run each time, the one around the marker hardly ever.
; CHECK-LABEL: define i32 @rarely(
; CHECK-NEXT: store i32 0, ptr %p
; CHECK: call i32 @covsched_derived_enter(i64 22) #[[GUARDED_TOO:[0-9]+]]
define i32 @rarely(ptr %p, i1 %c) {
  store i32 0, ptr %p
  br i1 %c, label %bad, label %good
good:
  ret i32 0
bad:
  %d = call i32 @covsched_derived_enter(i64 22)
  call void @fails() noreturn
  unreachable
}

; The recorded versions, behind everything else.
; CHECK-LABEL: define internal i32 @calls.recorded(ptr noundef %p, i32 %n)
; CHECK-SAME: #[[RECORDED:[0-9]+]]
; CHECK-NEXT: %d = call i32 @covsched_derived_enter(i64 1){{$}}
; CHECK: call void @unknown(ptr %a)
; CHECK-NEXT: call void @covsched_derived_leave(i32 %d)
; CHECK: %r = call i32 @only_called.recorded(i32 %n)
; CHECK: %s = call i32 @taken.recorded(i32 %n)
; CHECK-LABEL: define internal fastcc i32 @deeper.recorded(
; CHECK: call i32 @covsched_derived_enter(i64 3)
; CHECK-LABEL: define internal i32 @only_called.recorded(
; CHECK: call fastcc i32 @deeper.recorded(i32 %n)
; CHECK-LABEL: define internal void @catches.recorded(
; CHECK: cleanup
; CHECK-NEXT: call void @covsched_derived_leave(i32 %b)
; CHECK-LABEL: define internal ptr @thread.recorded(
; CHECK-NEXT: call i32 @covsched_thread_enter(i64 9)
; CHECK-LABEL: define internal i32 @jumps.recorded(
; CHECK: getelementptr [2 x ptr], ptr @labels.recorded,
; CHECK-LABEL: define linkonce_odr hidden void @grouped.recorded(
; CHECK-SAME: comdat
; CHECK-DAG: attributes #[[TESTED]] = { "covsched-version"="tested" }
; CHECK-DAG: attributes #[[RECORDED]] = { "covsched-version"="recorded" }
; CHECK-DAG: attributes #[[NOINLINE]] = { noinline }
; CHECK-DAG: attributes #[[GUARDED]] = { "covsched-guarded" }
; CHECK: ![[UNLIKELY]] = !{!"branch_weights", i32 1, i32 1048576}
declare i32 @covsched_derived_enter(i64)
declare void @covsched_derived_leave(i32)
declare i32 @covsched_derived_depth()
declare void @covsched_epoch_marker(i64)
declare i32 @covsched_thread_enter(i64)
declare void @covsched_thread_exit(i32, i64)
declare void @unknown(ptr)
declare void @fails() noreturn
declare i32 @__gxx_personality_v0(...)
