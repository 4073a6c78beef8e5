; Instrumenting twice is instrumenting once; lowering too.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument' -S %s -o %t.once.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument,covsched-instrument,verify' -S %s -o %t.twice.ll
; RUN: diff %t.once.ll %t.twice.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>' -S %s -o %t.step.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-lower,verify' -S %t.step.ll -o %t.lowered.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument,covsched-lower,covsched-lower,verify' -S %t.lowered.ll -o %t.again.ll
; RUN: %opt -passes=verify -S %t.lowered.ll -o %t.lowered-read.ll
; RUN: diff %t.lowered-read.ll %t.again.ll
; RUN: %FileCheck %s < %t.once.ll
; The sites of an instrumented module are those that the plain one was promised.
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output %s 2> %t.plain.txt
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output %t.lowered.ll 2> %t.done.txt
; RUN: diff %t.plain.txt %t.done.txt
; Printing changes nothing.
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -S %s -o %t.printed.ll 2> /dev/null
; RUN: %opt -passes=verify -S %s -o %t.verified.ll
; RUN: diff %t.printed.ll %t.verified.ll
target triple = "x86_64-pc-linux-gnu"

@hook = global ptr @pthread_mutex_unlock

; CHECK: define i32 @main() #[[DONE:[0-9]+]]
; CHECK: attributes #[[DONE]] = { "covsched-instrumented" }
; CHECK: !{{[0-9]+}} = !{i32 7, !"covsched", i32 1}
define i32 @main() {
  %r = call i32 @pthread_mutex_lock(ptr null)
  call void @_ZNSt6thread4joinEv(ptr null)
  call void @unknown()
  ret i32 %r
}
define linkonce_odr ptr @later(ptr %p) {
  call void @unknown()
  ret ptr %p
}
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare void @_ZNSt6thread4joinEv(ptr)
declare void @unknown()
