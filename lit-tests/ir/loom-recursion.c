// A function's fast path calls itself without the tests at the entry, in a copy that has none.
// RUN: %clang -O1 -g -S -emit-llvm %s -o %t.ll && %opt -load-pass-plugin=%plugin -passes=loom,verify -S %t.ll -o %t.loom.ll && %FileCheck %s < %t.loom.ll
// RUN: %clang -O1 -g -c %t.loom.ll -o %t.o
// RUN: %clang -O0 -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S | %FileCheck --check-prefix=NONE %s
// RUN: %clang -Os -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S | %FileCheck --check-prefix=NONE %s
// RUN: %opt -load-pass-plugin=%plugin -passes='loom<no-filter-byte>,verify' -S %t.ll | %FileCheck --check-prefix=NONE %s
// NONE-NOT: .again(

// CHECK-LABEL: define hidden i32 @depth.in.{{[0-9a-f]+}}(
// CHECK: call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
// CHECK: call {{.*}}i32 @depth.again(
// CHECK: call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
// CHECK: call {{.*}}i32 @depth.again(
// CHECK: call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
// CHECK: {{^[}]$}}
struct tree {
  struct tree *left, *right;
};
int depth(struct tree *of) {
  if (!of)
    return 0;
  int left = depth(of->left), right = depth(of->right);
  return 1 + (left > right ? left : right);
}

// Where a computed goto leads is a place in one function.
// CHECK-LABEL: define hidden i32 @jumps.in.{{[0-9a-f]+}}(
// CHECK-NOT: .again(
// CHECK: {{^[}]$}}
int jumps(int n) {
  static void *const to[] = {&&up, &&down, &&end};
  goto *to[n % 3];
up:
  return jumps(n + 1) + 1;
down:
  return jumps(n + 4) * jumps(n + 1);
end:
  return n;
}

// The slow path goes through the entry.
// CHECK-LABEL: define internal {{.*}}@depth.slow(
// CHECK-NOT: .again(
// CHECK: call i32 @depth.in.{{[0-9a-f]+}}(ptr nest poison, ptr
// CHECK-NOT: .again(
// CHECK: {{^[}]$}}

// CHECK-LABEL: define internal i32 @depth.again(
// CHECK-SAME: !dbg ![[AGAIN:[0-9]+]]
// CHECK-NOT: {{load volatile|testq}}
// CHECK-NOT: @covsched_loom_at
// CHECK: call {{.*}}i32 @depth.again({{.*}}!dbg ![[CALL:[0-9]+]]
// CHECK: call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
// CHECK: call {{.*}}@depth.slow(
// CHECK: {{^[}]$}}
// CHECK-DAG: ![[AGAIN]] = distinct !DISubprogram(name: "depth.again"
// CHECK-DAG: ![[CALL]] = !DILocation({{.*}}inlinedAt: !{{[0-9]+}})
