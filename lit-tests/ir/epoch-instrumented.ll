; Before covsched-instrument: its table has the markers. After it: a table of their own, with the same ids. A function with
; a marker is shown as a caller like one that synchronizes. Twice is once.
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,covsched-instrument<no-bitcode>,verify' -S < %s -o %t.before.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,epoch-markers,verify' -S < %s -o %t.after.ll
; RUN: %FileCheck %s --check-prefixes=CHECK,BEFORE < %t.before.ll
; RUN: %FileCheck %s --check-prefixes=CHECK,AFTER < %t.after.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output < %t.before.ll 2> %t.before.txt
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output < %t.after.ll 2> %t.after.txt
; RUN: grep epoch %t.before.txt > %t.1.txt && grep epoch %t.after.txt > %t.2.txt && diff %t.1.txt %t.2.txt
; RUN: %count 2 < %t.1.txt
; RUN: %FileCheck %s --check-prefix=SITES < %t.1.txt
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,epoch-markers,verify' -S < %t.before.ll -o %t.again.ll
; RUN: %opt -passes=verify -S < %t.before.ll -o %t.read.ll && diff %t.read.ll %t.again.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,epoch-markers,covsched-instrument<no-bitcode>,verify' -S < %s | diff %t.before.ll -
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,verify<covsched-epochs>,covsched-instrument<no-bitcode>,verify<covsched-epochs>' -disable-output < %s
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,covsched-instrument<no-bitcode;verbose>' -disable-output < %s 2>&1 | %FileCheck %s --check-prefix=ERR
; ERR: covsched: {{.*}}: 1 true, 1 derived, 0 entry, 0 exit, 2 epoch; limits: none
; SITES: {{[0-9a-f]+}} epoch - synchronizes -> -
; SITES: {{[0-9a-f]+}} epoch - spins -> -
target triple = "x86_64-pc-linux-gnu"

; BEFORE: @covsched.sites = private constant
; BEFORE-NOT: @covsched.sites.{{[0-9]+}} =
; AFTER: @covsched.sites = private constant
; AFTER: @covsched.sites.{{[0-9]+}} = private constant
; CHECK-LABEL: define void @synchronizes(
; CHECK: loop:
; CHECK-NEXT: call void @covsched_epoch_marker(i64 [[SITE:-?[0-9]+]])
; CHECK-NEXT: call i32 @covsched_pthread_mutex_lock(ptr %m, i64
define void @synchronizes(ptr %m, i1 %c) {
  br label %loop
loop:
  %r = call i32 @pthread_mutex_lock(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; CHECK-LABEL: define internal void @spins(
; CHECK: call void @covsched_epoch_spin(i64
define internal void @spins(ptr %p) {
  br label %loop
loop:
  %v = load atomic i32, ptr %p seq_cst, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %end
end:
  ret void
}

; CHECK-LABEL: define void @calls_spins(
; BEFORE-NEXT: call i32 @covsched_derived_enter(
; CHECK-NEXT: call void @spins(
define void @calls_spins(ptr %p) {
  call void @spins(ptr %p)
  ret void
}

; CHECK-LABEL: define void @does_neither(
; CHECK-NEXT: ret void
define void @does_neither() {
  ret void
}
declare i32 @pthread_mutex_lock(ptr)
