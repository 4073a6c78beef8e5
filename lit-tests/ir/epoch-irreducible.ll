; A cycle that can be entered at several blocks is no loop: a limit, named with its place. It gets a marker at each entry,
; so that it is bounded; without synchronization nothing.
; RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %s 2>&1 | %FileCheck %s --check-prefix=TEXT
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers<verbose>,verify,verify<covsched-epochs>' -S %s -o %t.ll 2> %t.err
; RUN: %FileCheck %s < %t.ll
; RUN: %FileCheck %s --check-prefix=ERR < %t.err
; RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers' -S < %t.ll -o %t.again.ll
; RUN: %opt -passes=verify -S < %t.ll -o %t.read.ll
; RUN: diff %t.read.ll %t.again.ll
target triple = "x86_64-pc-linux-gnu"
source_filename = "irreducible.c"

; ERR: covsched: irreducible.c: 2 markers, 1 loop: 0 trivial, 0 covered, 0 barrier, 0 spin; 0 recursions; 1 limit; 0 unbounded; limits: a cycle with several entries is no loop: an epoch marker stands at each of them, whatever the rules say (1, first: jumps_in at irreducible.c:9:3)
; TEXT: loop irreducible.c:9:3 jumps_in: limit: a cycle with several entries is no loop: {{.*}}; it may synchronize: pthread_mutex_lock
; TEXT: limit irreducible.c:9 jumps_in: a cycle with several entries is no loop

; CHECK-LABEL: define void @jumps_in(
; CHECK: one:
; CHECK-NEXT: call void @covsched_epoch_marker(i64 {{-?[0-9]+}})
; CHECK: other:
; CHECK-NEXT: call void @covsched_epoch_marker(i64 {{-?[0-9]+}})
; CHECK: end:
; CHECK-NEXT: ret void
define void @jumps_in(ptr %m, i1 %c) !dbg !4 {
entry:
  br i1 %c, label %one, label %other
one:
  %r = call i32 @pthread_mutex_lock(ptr %m), !dbg !5
  br label %other
other:
  br i1 %c, label %one, label %end
end:
  ret void
}

; CHECK-LABEL: define void @computes(
; CHECK-NOT: covsched
; CHECK: ret void
define void @computes(i1 %c) {
entry:
  br i1 %c, label %one, label %other
one:
  br label %other
other:
  br i1 %c, label %one, label %end
end:
  ret void
}

; CHECK-LABEL: define void @covered(
; CHECK-NOT: call void @covsched_epoch_marker(i64 {{-?[^7]+}})
; CHECK: ret void
define void @covered(ptr %m, i1 %c) {
entry:
  br i1 %c, label %one, label %other
one:
  %r = call i32 @pthread_mutex_lock(ptr %m)
  br label %other
other:
  %b = call i32 @pthread_barrier_wait(ptr %m)
  br i1 %c, label %one, label %end
end:
  ret void
}
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_barrier_wait(ptr)
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "irreducible.c", directory: "/")
!2 = !DISubroutineType(types: !{})
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "jumps_in", file: !1, line: 7, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DILocation(line: 9, column: 3, scope: !4)
