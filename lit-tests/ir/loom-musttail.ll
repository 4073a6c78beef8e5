; Nothing stands between a musttail call and its return, not even where that is of another line.
; RUN: %opt -load-pass-plugin=%plugin -passes=loom,verify -S %s | %FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare i32 @other(i32)

; CHECK: musttail call i32 @other(i32 %{{.*}}
; CHECK-NEXT: ret i32
; CHECK: musttail call i32 @other(i32 %{{.*}}
; CHECK-NEXT: ret i32
define i32 @passes_on(i32 %x) !dbg !4 {
  %result = musttail call i32 @other(i32 %x), !dbg !6
  ret i32 %result, !dbg !7
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "passes_on.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 5}
!4 = distinct !DISubprogram(name: "passes_on", scope: !1, file: !1, line: 1, type: !5, scopeLine: 1, spFlags: DISPFlagDefinition, unit: !0)
!5 = !DISubroutineType(types: !{})
!6 = !DILocation(line: 3, column: 3, scope: !4)
!7 = !DILocation(line: 2, column: 3, scope: !4)
