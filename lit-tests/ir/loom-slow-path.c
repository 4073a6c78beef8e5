// The slow path: a copy of the function with slots where lines change; checks on back edges, but not in loops that run a few
// times; a second run changes nothing.
// RUN: %clang -O1 -fno-unroll-loops -fno-vectorize -g -S -emit-llvm %s -o %t.ll && %opt -load-pass-plugin=%plugin -passes=loom,verify -S %t.ll -o %t.loom.ll && %FileCheck %s < %t.loom.ll
// RUN: %opt -load-pass-plugin=%plugin -passes=loom,verify -S %t.loom.ll -o %t.again.ll && bash -c 'diff <(sed "s/;.*//" %t.loom.ll) <(sed "s/;.*//" %t.again.ll)'
// RUN: %opt -load-pass-plugin=%plugin -passes='loom<all-loops>' -S %t.ll | %FileCheck --check-prefix=ALL %s
// RUN: %opt -load-pass-plugin=%plugin -passes='loom<no-cloning>,verify' -S %t.ll | %FileCheck --check-prefix=ONE %s
// RUN: env COVSCHED_PASS_OPTIONS=loom %clang -O1 -g -fpass-plugin=%plugin -S -emit-llvm %s -o - | %FileCheck --check-prefix=CLANG %s
// RUN: env 'COVSCHED_PASS_OPTIONS=loom<precise>' %clang -O1 -g -fpass-plugin=%plugin -S -emit-llvm %s -o - | %FileCheck --check-prefix=CLANG %s
// RUN: %clang -O1 -g -fpass-plugin=%plugin -S -emit-llvm %s -o - | %FileCheck --check-prefix=NONE %s

// CLANG: call preserve_allcc void @covsched_loom_slot(
// NONE-NOT: covsched_loom

// CHECK-LABEL: define dso_local i32 @count(
// CHECK: musttail call i32 @count.outside(
// CHECK: tail call i32 @count.in.[[H:[0-9a-f]+]](ptr nest poison, ptr noundef %0, i32 noundef %1)
// CHECK-LABEL: define hidden i32 @count.in.{{[0-9a-f]+}}(ptr nest %0, ptr noundef %1, i32 noundef %2)
// CHECK-NOT: @covsched_loom_at
// CHECK: call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
// CHECK: check:
// CHECK-NEXT: %[[B:.*]] = call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
// CHECK-NEXT: icmp ne i8 %[[B]], 0
// CHECK: cross:
// CHECK-NEXT: call {{.*}}@count.slow(ptr %1, i32 %2, i32 0, i32 0, i32 0){{.*}}, !dbg
// CHECK-NOT: @covsched_loom_slot
int count(volatile int *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    s += *p;
    *p = s;
  }
  return s;
}

// CHECK-LABEL: define hidden i32 @few.in.{{[0-9a-f]+}}(
// CHECK-NOT: @covsched_loom_check
// CHECK: tail call fastcc i32 @few.slow(ptr %1, i32 0){{.*}}, !dbg
// ALL-LABEL: define hidden i32 @few.in.{{[0-9a-f]+}}(
// ALL: @covsched_loom_check
// ALL: define
// ONE-LABEL: define hidden i32 @few.in.{{[0-9a-f]+}}(
// ONE-NOT: .slow
// ONE: call preserve_allcc void @covsched_loom_slot(
// ONE: define
int few(volatile int *p) {
  int s = 0;
  for (int i = 0; i < 30; i++)
    s += *p;
  return s;
}

// A function that may come back to itself pauses at its entry; what only the return follows is followed by no test.
// The slow path pauses.
// CHECK-LABEL: define hidden i32 @again.in.{{[0-9a-f]+}}(
// CHECK-NOT: @covsched_loom_check
// CHECK: {{^[}]$}}
__attribute__((noinline)) int again(int n, int (*f)(int)) {
  if (n > 0)
    return f(again(n - 1, f));
  return 0;
}

// What an attribute says of a parameter's number is not true of the slow path's.
void *malloc(unsigned long);
__attribute__((noinline, malloc, alloc_size(2))) void *made(void *unused, unsigned long size) {
  return malloc(size);
}

// The slow paths are functions of their own, in which the function is inlined.
// CHECK: define internal {{.*}}@count.slow(ptr %0,{{.*}} !dbg ![[SLOW:[0-9]+]]
// CHECK: switch i32 %
// CHECK: body.slow:
// CHECK: call preserve_allcc void @covsched_loom_slot(ptr @covsched.loom.slots, ptr %{{.*}}, !dbg ![[SLOT:[0-9]+]]
// CHECK: check.slow:
// CHECK-NEXT: %[[S:.*]] = load volatile i8, ptr @covsched.loom.functions
// CHECK-NEXT: icmp ne i8 %[[S]], 1
// CHECK: call preserve_allcc void @covsched_loom_check(
// CHECK-NOT: !covsched.from
// CHECK: define internal fastcc i32 @few.slow(
// CHECK-NOT: @covsched_loom_check
// CHECK: call preserve_allcc void @covsched_loom_slot(
// CHECK-NOT: @covsched_loom_check
// CHECK: define internal fastcc i32 @again.slow(
// CHECK: call preserve_allcc void @covsched_loom_check(
// CHECK-DAG: ![[SLOW]] = distinct !DISubprogram(name: "count.slow"
// CHECK-DAG: ![[SLOT]] = !DILocation({{.*}}inlinedAt: !{{[0-9]+}})
// CHECK-DAG: = distinct !DILocation({{.*}}scope: ![[SLOW]])
