; epoch-markers<count-instructions> leaves out the resolver of an ifunc and what it calls by name: they run before the
; thread has its variables. What the ifunc comes to counts.
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers<count-instructions>,verify' -S %s | %FileCheck %s
target triple = "x86_64-pc-linux-gnu"

@f = ifunc i32 (), ptr @resolve

; CHECK-LABEL: define internal i32 @chosen()
; CHECK: @covsched_instructions
define internal i32 @chosen() {
  ret i32 42
}

; CHECK-LABEL: define internal ptr @choose()
; CHECK-NOT: @covsched_instructions
; CHECK: ret ptr
define internal ptr @choose() {
  ret ptr @chosen
}

; CHECK-LABEL: define internal ptr @resolve()
; CHECK-NOT: @covsched_instructions
; CHECK: ret ptr
define internal ptr @resolve() {
  %chosen = call ptr @choose()
  ret ptr %chosen
}

; CHECK-LABEL: define i32 @main()
; CHECK: @covsched_instructions
define i32 @main() {
  %result = call i32 @f()
  ret i32 %result
}
