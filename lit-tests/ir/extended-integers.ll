; Where the ABI extends small integers, hooks and markers say so.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,verify' -S %s | %FileCheck %s
target datalayout = "E-m:e-i1:8:16-i8:8:16-i64:64-f128:64-a:8:16-n32:64"
target triple = "s390x-unknown-linux-gnu"

; CHECK-DAG: declare signext i32 @covsched_pthread_kill(i64, i32 signext, i64)
; CHECK-DAG: declare signext i32 @covsched_sem_init(ptr, i32 signext, i32 zeroext, i64)
; CHECK-DAG: declare void @covsched_thread_exit(i32 signext, i64)
; CHECK-DAG: call signext i32 @covsched_pthread_kill(i64 %t, i32 signext 9, i64
define signext i32 @main() {
  %t = load i64, ptr null
  %a = call signext i32 @pthread_kill(i64 %t, i32 signext 9)
  %b = call signext i32 @sem_init(ptr null, i32 signext 0, i32 zeroext 1)
  ret i32 0
}
declare signext i32 @pthread_kill(i64, i32 signext)
declare signext i32 @sem_init(ptr, i32 signext, i32 zeroext)
