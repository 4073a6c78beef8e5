// A loop up to a limit, from where the one before it stopped: it is short if that only grows, from 0 or more. Where it may be negative, or the limit is
// far away, nothing follows.
// RUN: %clang -O2 -fno-unroll-loops -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S | %FileCheck %s
enum { SIZE = 1 << 14 };

// The outer loop has a check.
// CHECK-LABEL: define hidden void @words.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK-NOT: @covsched_loom_check(
// CHECK: {{^[}]$}}
void words(char *to, const char *const *all, unsigned seed) {
  for (long at = 0; at < SIZE;) {
    seed = seed * 1664525 + 1013904223;
    for (const char *word = all[seed >> 28]; *word && at < SIZE; ++word)
      to[at++] = *word;
    if (seed & 512 && at < SIZE)
      to[at++] = '0';
  }
}

// CHECK-LABEL: define hidden void @begins.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
void begins(char *to, const char *const *all, unsigned seed, long at) {
  while (at < SIZE) {
    seed = seed * 1664525 + 1013904223;
    for (const char *word = all[seed >> 28]; *word && at < SIZE; ++word)
      to[at++ & 7] = *word;
  }
}

// CHECK-LABEL: define hidden void @goes_back.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
void goes_back(char *to, const char *const *all, unsigned seed, long by) {
  for (long at = 0; at < SIZE;) {
    seed = seed * 1664525 + 1013904223;
    for (const char *word = all[seed >> 28]; *word && at < SIZE; ++word)
      to[at++ & 7] = *word;
    at -= by;
  }
}

// What wraps is not poison.
// CHECK-LABEL: define hidden void @wraps.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
void wraps(char *to, const char *const *all, unsigned seed, unsigned long by) {
  for (unsigned long at = 0; (long)at < SIZE; at += by) {
    seed = seed * 1664525 + 1013904223;
    for (const char *word = all[seed >> 28]; *word && (long)at < SIZE; ++word)
      to[at++ & 7] = *word;
  }
}

// CHECK-LABEL: define hidden void @far.in.
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: call {{.*}}@covsched_loom_check(
// CHECK: {{^[}]$}}
void far(char *to, const char *const *all, unsigned seed) {
  for (long at = 0; at < 1 << 24;) {
    seed = seed * 1664525 + 1013904223;
    for (const char *word = all[seed >> 28]; *word && at < 1 << 24; ++word)
      to[at++] = *word;
  }
}
