; The points-to analysis says what it was like; with `sets`, where registers point and what calls come to. The module is
; left as it is.
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-points-to>,verify' -S %s -o %t.ll 2>&1 | %FileCheck %s --check-prefix=FIGURES
; RUN: %opt -S %s -o - | diff - %t.ll
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-points-to;sets>' -disable-output %s 2>&1 | %FileCheck %s --implicit-check-not='main %%nothing'
; RUN: %not %opt -load-pass-plugin=%plugin -passes='print<covsched-points-to;set>' -disable-output %s 2>&1 | %FileCheck %s --check-prefix=WRONG
; WRONG: covsched: {{.*}}set
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; FIGURES-NOT: ->
; FIGURES: covsched: points-to: 4 functions, {{[0-9]+}} instructions, {{[0-9]+}} objects, {{[0-9]+}} locations, {{[0-9]+}} nodes, {{[0-9]+}} constraints, {{[0-9]+}} iterations, 5 accesses (1 external), mean set 1.00, largest 1, {{[0-9.]+}} s

%pair = type { ptr, ptr }
@shared = internal global %pair zeroinitializer
@table = internal constant [1 x ptr] [ptr @chosen]
@buffer = internal global [4 x ptr] zeroinitializer

declare ptr @malloc(i64)
declare ptr @mystery()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare void @qsort(ptr, i64, i64, ptr)

; CHECK-DAG: - worker %own -> heap(main %new)
; CHECK-DAG: - worker %second -> heap(main %new)+8
define internal ptr @worker(ptr %own) {
  %second = getelementptr %pair, ptr %own, i64 0, i32 1
  store ptr @buffer, ptr %second
  ret ptr null
}
; CHECK-DAG: - less %a -> @buffer+?
; CHECK-DAG: - less %b -> @buffer+?
define internal i32 @less(ptr %a, ptr %b) {
  ret i32 0
}
; CHECK-DAG: - chosen %what -> @shared
define internal ptr @chosen(ptr %what) {
  ret ptr %what
}
define i32 @main() {
  %thread = alloca i64
  ; CHECK-DAG: - main %new -> heap(main %new)
  %new = call ptr @malloc(i64 16)
  ; CHECK-DAG: - main calls @worker in a thread
  %1 = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %new)
  ; CHECK-DAG: - main %second -> heap(main %new)+8
  %second = getelementptr %pair, ptr %new, i64 0, i32 1
  ; CHECK-DAG: - main %stored -> @buffer
  %stored = load ptr, ptr %second
  ; CHECK-DAG: - main calls @less
  call void @qsort(ptr %stored, i64 4, i64 8, ptr @less)
  ; CHECK-DAG: - main %function -> @chosen
  %function = load ptr, ptr @table
  ; CHECK-DAG: - main calls @chosen
  ; CHECK-DAG: - main %same -> @shared
  %same = call ptr %function(ptr @shared)
  ; Nothing is stored there: no line.
  %nothing = load ptr, ptr %same
  ; CHECK-DAG: - main calls unknown code
  ; CHECK-DAG: - main %foreign -> external
  %foreign = call ptr @mystery()
  %2 = load i32, ptr %foreign
  ret i32 %2
}
; CHECK: covsched: points-to: 4 functions
