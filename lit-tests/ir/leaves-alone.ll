; What must not become a hook call: the program's own functions with a library's name, other people's functions,
; intrinsics, assembly, naked functions.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,verify' -S %s | %FileCheck %s
target triple = "x86_64-pc-linux-gnu"

@lock_alias = alias i32 (ptr), ptr @pthread_mutex_lock

; The module defines these names, so they are not the library's. CHECK-NOT on the hooks as a whole:
; CHECK-NOT: covsched_pthread_mutex_lock
; CHECK-NOT: covsched_exit
define i32 @pthread_mutex_lock(ptr %m) {
  ret i32 0
}

define internal void @exit(i32 %status) {
  ret void
}

; CHECK-LABEL: define void @calls_its_own(
; CHECK-NEXT: call i32 @pthread_mutex_lock(ptr %m)
; CHECK-NEXT: call i32 @lock_alias(ptr %m)
; CHECK-NEXT: call void @exit(i32 1)
; CHECK-NEXT: ret void
define void @calls_its_own(ptr %m) {
  %a = call i32 @pthread_mutex_lock(ptr %m)
  %b = call i32 @lock_alias(ptr %m)
  call void @exit(i32 1)
  ret void
}

; CHECK-LABEL: define void @calls_the_library(
; CHECK-NEXT: call i32 @puts(ptr %p)
; CHECK-NEXT: call void @llvm.memset
; CHECK-NEXT: call void asm sideeffect "pause"
; CHECK-NEXT: call i32 @reads_only(ptr %p)
; CHECK-NEXT: call i32 @not_in_the_table(ptr %p) #[[NOSYNC:[0-9]+]]
; CHECK-NEXT: ret void
define void @calls_the_library(ptr %p) {
  %a = call i32 @puts(ptr %p)
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 8, i1 false)
  call void asm sideeffect "pause", ""()
  %b = call i32 @reads_only(ptr %p)
  %c = call i32 @not_in_the_table(ptr %p) nosync
  ret void
}

; CHECK-LABEL: define void @naked_function(
; CHECK-NEXT: call void asm sideeffect
; CHECK-NEXT: unreachable
define void @naked_function() naked {
  call void asm sideeffect "ret", ""()
  unreachable
}

; A function that nobody can make a thread's has no entry.
; CHECK-LABEL: define internal ptr @called_only(
; CHECK-NEXT: call i32 @puts
; CHECK-NEXT: ret ptr %p
define internal ptr @called_only(ptr %p) {
  %a = call i32 @puts(ptr %p)
  ret ptr %p
}

; CHECK-LABEL: define ptr @calls_called_only(
; CHECK: call ptr @called_only
define ptr @calls_called_only(ptr %p) {
  %r = call ptr @called_only(ptr %p)
  ret ptr %r
}

; A method in a vtable is no thread function; neither is what atexit or a comparison function gets.
@_ZTV1A = constant [1 x ptr] [ptr @_ZN1A3runEv]
; CHECK-LABEL: define void @_ZN1A3runEv(
; CHECK-NEXT: ret void
define void @_ZN1A3runEv(ptr %this) {
  ret void
}
; CHECK-LABEL: define internal void @at_exit(
; CHECK-NEXT: ret void
define internal void @at_exit(ptr %p) {
  ret void
}
define void @registers_at_exit() {
  %r = call i32 @__cxa_atexit(ptr @at_exit, ptr null, ptr null)
  ret void
}

; CHECK: attributes #[[NOSYNC]] = { nosync }
declare i32 @puts(ptr)
declare i32 @__cxa_atexit(ptr, ptr, ptr)
declare i32 @reads_only(ptr) memory(read)
declare i32 @not_in_the_table(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
