; What the pass cannot do is named, located and counted, and the rest is done. Losing a true synchronization is a
; warning.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode;verbose>,verify' -S %s -o %t.ll 2> %t.err
; RUN: %FileCheck %s < %t.ll
; RUN: %FileCheck %s --check-prefix=ERR < %t.err
target triple = "x86_64-pc-linux-gnu"
source_filename = "limits.c"

; CHECK: @opener = global ptr @sem_open
@opener = global ptr @sem_open

; ERR-DAG: warning: limits.c:7:3: in function ends_in_lock i32 (ptr): covsched: pthread_mutex_lock: synchronization by a musttail call is not seen
; CHECK-LABEL: define i32 @ends_in_lock(
; CHECK-NEXT: musttail call i32 @pthread_mutex_lock(ptr %m)
; CHECK-NEXT: ret i32
define i32 @ends_in_lock(ptr %m) !dbg !4 {
  %r = musttail call i32 @pthread_mutex_lock(ptr %m), !dbg !5
  ret i32 %r, !dbg !5
}

; ERR-DAG: warning: {{.*}}in function wrong_arguments void (ptr): covsched: pthread_mutex_unlock: a call whose arguments do not fit the function's prototype is not seen
; CHECK-LABEL: define void @wrong_arguments(
; CHECK-NEXT: call i32 @pthread_mutex_unlock(i32 1)
; CHECK-NEXT: call i32 @covsched_pthread_mutex_unlock(ptr %m, i64
define void @wrong_arguments(ptr %m) {
  %a = call i32 @pthread_mutex_unlock(i32 1)
  %b = call i32 @pthread_mutex_unlock(ptr %m)
  ret void
}

; ERR-DAG: warning: covsched: sem_open: calls of a variadic function through a pointer are not seen

; CHECK-LABEL: define void @ends_in_unknown(
; CHECK-NEXT: musttail call void @unknown(ptr %m)
; CHECK-NEXT: ret void
define void @ends_in_unknown(ptr %m) {
  musttail call void @unknown(ptr %m)
  ret void
}

; The entry is there; the return after a musttail call is not.
@thread = global ptr @thread_ends_in_unknown
; CHECK-LABEL: define internal void @thread_ends_in_unknown(
; CHECK-NEXT: call i32 @covsched_thread_enter
; CHECK-NEXT: musttail call void @unknown(ptr %m)
; CHECK-NEXT: ret void
define internal void @thread_ends_in_unknown(ptr %m) {
  musttail call void @unknown(ptr %m)
  ret void
}

; A coroutine's synchronizations are seen, its callers not.
; CHECK-LABEL: define void @coroutine(
; CHECK-NEXT: call i32 @covsched_pthread_mutex_unlock(ptr %m, i64
; CHECK-NEXT: call void @unknown(ptr %m)
; CHECK-NEXT: ret void
define void @coroutine(ptr %m) presplitcoroutine {
  %r = call i32 @pthread_mutex_unlock(ptr %m)
  call void @unknown(ptr %m)
  ret void
}

; CHECK-LABEL: define void @jumps(
; CHECK-NEXT: callbr void asm
define void @jumps() {
  callbr void asm sideeffect "", "!i"() to label %a [label %b]
a:
  ret void
b:
  ret void
}

define void @naked_one() naked {
  unreachable
}

; ERR-DAG: covsched: limits.c: 2 true, 0 derived, 1 entry, 0 exit; limits: synchronization by a musttail call is not seen (1, first: pthread_mutex_lock at limits.c:7:3); {{.*}}a naked function was left alone (1, first: naked_one); {{.*}}a musttail call is not shown as a caller of synchronizations (2, first: unknown)

declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare ptr @sem_open(ptr, i32, ...)
declare void @unknown(ptr)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "limits.c", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !6)
!4 = distinct !DISubprogram(name: "ends_in_lock", file: !1, line: 6, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DILocation(line: 7, column: 3, scope: !4)
!6 = !{}
