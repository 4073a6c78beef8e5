// Loops over tiles: that they are short follows from their bounds together. Where the first bound may be above the second nothing
// follows.
// RUN: %clang -O1 -fno-unroll-loops -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S | %FileCheck %s
static inline long least(long a, long b) { return a < b ? a : b; }

// The outermost loop alone has a check.
// CHECK-LABEL: define hidden void @tiles.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK-NOT: @covsched_loom_check(
// CHECK: {{^[}]$}}
void tiles(volatile double *to, long n) {
  for (long tile = 0; tile < n; tile += 32)
    for (long row = tile; row < least(tile + 32, n); ++row)
      for (long column = 0; column < 8; ++column)
        to[row * 8 + column] += 1;
}

// CHECK-LABEL: define hidden void @from.in.
// CHECK-NOT: @covsched_loom_check(
// CHECK: {{^[}]$}}
void from(volatile double *to, long begin, long n) {
  for (long i = begin; i < least(begin + 32, n); ++i)
    to[i] += 1;
}

// If n is below begin, this one runs for very long.
// CHECK-LABEL: define hidden void @until.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
void until(volatile double *to, long begin, long n) {
  long end = least(begin + 32, n);
  for (unsigned long i = begin; i != (unsigned long)end; ++i)
    to[i & 7] += 1;
}

// CHECK-LABEL: define hidden void @longer.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
void longer(volatile double *to, long begin, long n) {
  for (long i = begin; i < least(begin + 320000, n); ++i)
    to[i] += 1;
}
