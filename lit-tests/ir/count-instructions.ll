; epoch-markers<count-instructions>: each block adds the number of its instructions to the thread's counter, blocks that
; always run together once. Without the parameter nothing counts.
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers<count-instructions>,verify' -S %s -o %t.ll
; RUN: %FileCheck %s < %t.ll
; A second run changes nothing.
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers<count-instructions>,epoch-markers<count-instructions>,verify' -S %s -o %t.again.ll
; RUN: diff %t.ll %t.again.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers' -S %s | %FileCheck %s --check-prefix=NONE
; A name that is taken is an error.
; RUN: sed 's/@taken/@covsched_instructions/' %s > %t.taken.ll
; RUN: %not %opt -load-pass-plugin=%plugin -passes='epoch-markers<count-instructions>' -disable-output %t.taken.ll 2>&1 | %FileCheck %s --check-prefix=TAKEN
; TAKEN: error: covsched: count-instructions: the program has something else named covsched_instructions: rename it there
; NONE-NOT: covsched_instructions
target triple = "x86_64-pc-linux-gnu"

; CHECK: @covsched_instructions = external thread_local(initialexec) global i64
@taken = global i32 0

declare void @puts(ptr)
declare i32 @__gxx_personality_v0(...)
declare void @llvm.lifetime.start.p0(i64, ptr)

; Allocas, lifetimes and phis do not count, and the counting comes after the allocas.
; CHECK-LABEL: define i32 @branches(
; CHECK-NEXT: entry:
; CHECK-NEXT: alloca
; CHECK-NEXT: [[OLD:%.*]] = load i64, ptr @covsched_instructions, align 8, !nosanitize
; CHECK-NEXT: [[NEW:%.*]] = add i64 [[OLD]], 3
; CHECK-NEXT: store i64 [[NEW]], ptr @covsched_instructions, align 8, !nosanitize
; CHECK: left:
; CHECK: add i64 {{.*}}, 1
; CHECK: right:
; CHECK: add i64 {{.*}}, 2
; CHECK: end:
; CHECK-NEXT: phi
; CHECK: add i64 {{.*}}, 1
; CHECK: ret
define i32 @branches(i32 %a) {
entry:
  %x = alloca i32
  call void @llvm.lifetime.start.p0(i64 4, ptr %x)
  store i32 %a, ptr %x
  %c = icmp eq i32 %a, 0
  br i1 %c, label %left, label %right
left:
  br label %end
right:
  %d = mul i32 %a, 3
  br label %end
end:
  %r = phi i32 [ 0, %left ], [ %d, %right ]
  ret i32 %r
}

; Three blocks in a row count once.
; CHECK-LABEL: define i32 @row(
; CHECK: add i64 {{.*}}, 5
; CHECK-NEXT: store i64 {{.*}}, ptr @covsched_instructions
; CHECK-NOT: @covsched_instructions
define i32 @row(i32 %a) {
entry:
  %b = add i32 %a, 1
  br label %second
second:
  %c = mul i32 %b, %b
  br label %third
third:
  ret i32 %c
}

; A loop of one block is no row, though it follows itself.
; CHECK-LABEL: define void @spin(
; CHECK: add i64 {{.*}}, 1
; CHECK: loop:
; CHECK: add i64 {{.*}}, 1
define void @spin() {
entry:
  br label %loop
loop:
  br label %loop
}

; Behind landing pads; before a call that must be followed by its return.
; CHECK-LABEL: define void @lands(
; CHECK: landingpad
; CHECK-NEXT: catch
; CHECK-NEXT: load i64, ptr @covsched_instructions
; CHECK: done:
; CHECK-NEXT: load i64, ptr @covsched_instructions
; CHECK: musttail call void @puts(
; CHECK-NEXT: ret void
define void @lands(ptr %p) personality ptr @__gxx_personality_v0 {
entry:
  invoke void @puts(ptr %p) to label %done unwind label %pad
pad:
  %l = landingpad { ptr, i32 } catch ptr null
  ret void
done:
  musttail call void @puts(ptr %p)
  ret void
}

; It writes memory now, so it must not say that it does not.
; CHECK-LABEL: define i32 @pure(
; CHECK-SAME: #[[PURE:[0-9]+]]
define i32 @pure(i32 %a) memory(none) {
  ret i32 %a
}

; CHECK-LABEL: define void @naked(
; CHECK-NEXT: unreachable
define void @naked() naked {
  unreachable
}

; CHECK: attributes #[[PURE]] = { "covsched-counted" }
