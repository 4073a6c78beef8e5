// A loop in which every way round passes a call with a test after it needs no check of its own on the fast path.
// RUN: %clang -O1 -fno-unroll-loops -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S | %FileCheck %s
int one(int), other(int);

// CHECK-LABEL: define hidden i32 @both.in.
// CHECK-NOT: @covsched_loom_check(
// CHECK: {{^[}]$}}
int both(volatile int *next, int n) {
  while (n)
    n = *next ? one(n) : other(n);
  return n;
}

// CHECK-LABEL: define hidden i32 @either.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
int either(volatile int *next, int n) {
  while (n) {
    n = *next;
    if (n > 1)
      n = one(n);
  }
  return n;
}

// The inner loop's calls are not made in each iteration of the outer one.
// CHECK-LABEL: define hidden i32 @outer.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
int outer(volatile int *next, int n) {
  do
    while (*next)
      n = one(n);
  while (*next > 7);
  return n;
}
