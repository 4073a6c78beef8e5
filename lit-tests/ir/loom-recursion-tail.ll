; A call of oneself that may become a jump keeps the tests at the entry: nothing else is tested on that cycle.
; RUN: %opt -load-pass-plugin=%plugin -passes=loom,verify -S %s | %FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-NOT: .again(
; CHECK-LABEL: define internal i32 @bound(
; CHECK: call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
; CHECK: musttail call i32 @bound(
define internal i32 @bound(ptr %from) noinline {
  %value = load volatile i32, ptr %from
  %ends = icmp eq i32 %value, 0
  br i1 %ends, label %end, label %on
on:
  %result = musttail call i32 @bound(ptr %from)
  ret i32 %result
end:
  ret i32 0
}

; CHECK-LABEL: define i32 @free(
; CHECK: tail call i32 @free(
define i32 @free(ptr %from) noinline {
  %value = load volatile i32, ptr %from
  %ends = icmp eq i32 %value, 0
  br i1 %ends, label %end, label %on
on:
  %result = tail call i32 @free(ptr %from)
  ret i32 %result
end:
  %other = call i32 @bound(ptr %from)
  ret i32 %other
}
; CHECK-NOT: .again(
