// Loops that run a few times have no check; few times few times few are many.
// RUN: %clang -O1 -fno-unroll-loops -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S | %FileCheck %s

// CHECK-LABEL: define hidden void @two.in.
// CHECK-NOT: @covsched_loom_check(
// CHECK: {{^[}]$}}
void two(volatile int *to) {
  for (int i = 0; i < 60; ++i)
    for (int j = 0; j < 60; ++j)
      *to = i ^ j;
}

// 60 * 60 * 60 iterations go by; the two loops around them have a check each.
// CHECK-LABEL: define hidden void @five.in.
// CHECK-COUNT-2: call {{.*}}@covsched_loom_check(
// CHECK-NOT: @covsched_loom_check(
// CHECK: {{^[}]$}}
void five(volatile int *to) {
  for (int i = 0; i < 60; ++i)
    for (int j = 0; j < 60; ++j)
      for (int k = 0; k < 60; ++k)
        for (int l = 0; l < 60; ++l)
          for (int m = 0; m < 60; ++m)
            *to = i ^ j ^ k ^ l ^ m;
}
