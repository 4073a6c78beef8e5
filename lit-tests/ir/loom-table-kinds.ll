; What stands in odd functions: exceptions that land or leave, functions that cannot be cloned, handlers whose symbol a
; wrapper has, calls without a prototype, aliases, hooks.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,loom,verify,print<covsched-loom>' -disable-output %s 2>&1 | %FileCheck %s
target triple = "x86_64-pc-linux-gnu"

@handlers = global ptr @handler
@named = alias void (i32), ptr @handler
@jumps = global [20 x i64] zeroinitializer

; CHECK: function 0 handler kinds.c:1 taken
; CHECK-NOT: limit
; CHECK: call work at
define void @handler(i32 %n) !dbg !10 {
  call void @work(), !dbg !11
  ret void, !dbg !11
}

; CHECK: {{^}}function 1 calls kinds.c:3
; CHECK: call handler {
; CHECK: call handler {
; CHECK: call one of 4 shapes
; CHECK: call pthread_mutex_lock at
; An exception leaves by the call that has no landing pad.
; CHECK: [[CALL:[0-9]+]] call work at {{[0-9]+}} {{.*}} -> {{[0-9]+}} [[OUT:[0-9]+]]
; CHECK: [[OUT]] unwind
define void @calls(ptr %p, ptr %m) !dbg !12 {
  call void @handler(i32 1) nounwind, !dbg !13
  call void @named(i32 1) nounwind, !dbg !13
  call void (...) %p(i32 1, i64 2) nounwind, !dbg !13
  %r = call i32 @pthread_mutex_lock(ptr %m) nounwind, !dbg !13
  call void @work(), !dbg !13
  ret void, !dbg !13
}

; CHECK: {{^}}function 2 lands kinds.c:5
; CHECK: call work at {{[0-9]+}} {kinds.c:6} -> {{[0-9]+}} {{[0-9]+}}
; CHECK: landing
; CHECK: unwind
define void @lands() personality ptr @__gxx_personality_v0 !dbg !14 {
  invoke void @work() to label %on unwind label %pad, !dbg !15
on:
  ret void, !dbg !15
pad:
  %l = landingpad { ptr, i32 } cleanup, !dbg !15
  resume { ptr, i32 } %l, !dbg !15
}

; CHECK: {{^}}function 3 twice kinds.c:7 limit: it calls setjmp
; CHECK-NOT: slot
; CHECK: call setjmp
; CHECK: landing
; CHECK: return
define i32 @twice() !dbg !16 {
  %r = call i32 @setjmp(ptr @jumps) returns_twice, !dbg !17
  call void @work(), !dbg !17
  ret i32 %r, !dbg !17
}

declare void @work()
declare i32 @setjmp(ptr) returns_twice
declare i32 @pthread_mutex_lock(ptr)
declare i32 @__gxx_personality_v0(...)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "kinds.c", directory: "/nowhere")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{null})
!10 = distinct !DISubprogram(name: "handler", file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DILocation(line: 2, scope: !10)
!12 = distinct !DISubprogram(name: "calls", file: !1, line: 3, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!13 = !DILocation(line: 4, scope: !12)
!14 = distinct !DISubprogram(name: "lands", file: !1, line: 5, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!15 = !DILocation(line: 6, scope: !14)
!16 = distinct !DISubprogram(name: "twice", file: !1, line: 7, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!17 = !DILocation(line: 8, scope: !16)
