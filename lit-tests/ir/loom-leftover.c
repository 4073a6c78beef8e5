// What a vectorized loop leaves over is provably short, unless all of it may be left over.
// RUN: %clang -O2 -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S | %FileCheck %s

// The vector loop alone has a check.
// CHECK-LABEL: define hidden void @add.in.
// CHECK: load <2 x double>
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK-NOT: @covsched_loom_check(
// CHECK: {{^[}]$}}
void add(double *restrict to, const double *restrict from, long n) {
  for (long i = 0; i < n; ++i)
    to[i] += from[i];
}

// If they overlap.
// CHECK-LABEL: define hidden void @overlapping.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
void overlapping(double *to, const double *from, long n) {
  for (long i = 0; i < n; ++i)
    to[i] += from[i];
}

// If n is 0, this one runs 2^32 times, and the vector loop not at all.
// CHECK-LABEL: define hidden void @wraps.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
void wraps(double *restrict to, const double *restrict from, unsigned n) {
  unsigned i = 0;
  do
    to[i] += from[i];
  while (++i != n);
}
