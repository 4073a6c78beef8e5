; A loop that cannot be unrolled is left as it is, with the reason: a line with `verbose`, and an optimization remark.
; RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=4;verbose>,verify' -S %s -o %t.ll 2> %t.err
; RUN: %FileCheck %s --check-prefix=SAYS < %t.err
; RUN: %opt -passes=verify -S %s -o %t.before.ll
; Nothing but the last function has changed.
; RUN: sed '/define void @fine/,$d;/^; ModuleID/d' %t.before.ll > %t.before.most
; RUN: sed '/define void @fine/,$d;/^; ModuleID/d' %t.ll > %t.most
; RUN: diff %t.before.most %t.most
; RUN: %FileCheck %s < %t.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=4>' -disable-output %s -pass-remarks=sync-unroll -pass-remarks-missed=sync-unroll 2>&1 | %FileCheck %s --check-prefix=REMARK
; One loop is too large if it is to be copied often.
; RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=1024;verbose>' -disable-output %s 2>&1 | %FileCheck %s --check-prefix=LARGE
target triple = "x86_64-pc-linux-gnu"
source_filename = "reasons.c"

declare i32 @pthread_mutex_lock(ptr)
declare i1 @library(ptr)
declare void @once_in_text(ptr) noduplicate
declare void @together(ptr) convergent
declare i32 @setjmp(ptr) returns_twice
declare i32 @__gxx_personality_v0(...)
declare i32 @__CxxFrameHandler3(...)

; SAYS-DAG: covsched: optnone: loop not unrolled: the function is optnone (-O0): compile with -O1 or -Xclang -disable-O0-optnone
define void @optnone(ptr %m) noinline optnone {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  %c = call i1 @library(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; SAYS-DAG: covsched: pragma: loop not unrolled: #pragma nounroll (or -O1, -fno-unroll-loops) forbids it
define void @pragma(ptr %m) {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  %c = call i1 @library(ptr %m)
  br i1 %c, label %loop, label %end, !llvm.loop !0
end:
  ret void
}

; SAYS-DAG: covsched: computed_goto: loop not unrolled: it has a computed goto (indirectbr)
define void @computed_goto(ptr %m, ptr %where) {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  %to = load ptr, ptr %where
  indirectbr ptr %to, [label %loop, label %end]
end:
  ret void
}

; SAYS-DAG: covsched: label_address: loop not unrolled: the address of a label in it is taken
define ptr @label_address(ptr %m) {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  br label %middle
middle:
  %c = call i1 @library(ptr blockaddress(@label_address, %middle))
  br i1 %c, label %loop, label %end
end:
  ret ptr blockaddress(@label_address, %middle)
}

; SAYS-DAG: covsched: asm_goto: loop not unrolled: it has an asm goto (callbr)
define void @asm_goto(ptr %m) {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  callbr void asm "", "!i"() to label %loop [label %end]
end:
  ret void
}

; SAYS-DAG: covsched: not_to_copy: loop not unrolled: it has a call that must not be duplicated (noduplicate)
define void @not_to_copy(ptr %m) {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  call void @once_in_text(ptr %m)
  %c = call i1 @library(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; SAYS-DAG: covsched: convergent: loop not unrolled: it has a convergent call
define void @convergent(ptr %m) {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  call void @together(ptr %m)
  %c = call i1 @library(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; SAYS-DAG: covsched: coroutine: loop not unrolled: a coroutine gets no epoch markers
define void @coroutine(ptr %m) presplitcoroutine {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  %c = call i1 @library(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; SAYS-DAG: covsched: funclets: loop not unrolled: a function with exception funclets gets no epoch markers
define void @funclets(ptr %m) personality ptr @__CxxFrameHandler3 {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  %c = call i1 @library(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; SAYS-DAG: covsched: sets_jump: loop not unrolled: the function calls setjmp or another function that returns twice
define void @sets_jump(ptr %m, ptr %b) {
entry:
  %s = call i32 @setjmp(ptr %b) returns_twice
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  %c = call i1 @library(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}

; SAYS-DAG: covsched: tries_again: loop not unrolled: it begins where exceptions land
define void @tries_again(ptr %m) personality ptr @__gxx_personality_v0 {
entry:
  %first = invoke i32 @pthread_mutex_lock(ptr %m) to label %end unwind label %loop
loop:
  %p = landingpad { ptr, i32 } catch ptr null
  %l = invoke i32 @pthread_mutex_lock(ptr %m) to label %end unwind label %loop
end:
  ret void
}

; LARGE: covsched: fine: loop not unrolled: it would have more than 16384 instructions: try a smaller factor
; SAYS-DAG: covsched: fine: loop unrolled 4 times with all exits
; REMARK-DAG: remark: {{.*}}: not unrolled: a coroutine gets no epoch markers
; REMARK-DAG: remark: {{.*}}: unrolled 4 times with all exits
; SAYS-DAG: covsched: reasons.c: sync-unroll: 1 unrolled, 11 left alone
; CHECK-LABEL: define void @fine(
; CHECK-COUNT-4: call i32 @pthread_mutex_lock(
; CHECK-NOT: call i32 @pthread_mutex_lock(
define void @fine(ptr %m) {
entry:
  br label %loop
loop:
  %l = call i32 @pthread_mutex_lock(ptr %m)
  store volatile i32 1, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 3, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 4, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 5, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 6, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 7, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 8, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 9, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 10, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 11, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 12, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 13, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 14, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 15, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 16, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 17, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 18, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 19, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 20, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 21, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 22, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 23, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 24, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  store volatile i32 25, ptr %m
  store volatile i32 0, ptr %m
  store volatile i32 1, ptr %m
  store volatile i32 2, ptr %m
  %c = call i1 @library(ptr %m)
  br i1 %c, label %loop, label %end
end:
  ret void
}

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2}
