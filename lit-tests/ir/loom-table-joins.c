// A function without slots, with a loop that has two lines, no access and no check: its table is finite. (It was endless for pigz.)
// RUN: %clang -O2 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.ll
// RUN: env COVSCHED_PASS_OPTIONS=loom %opt -load-pass-plugin=%plugin -passes='default<O2>,verify,print<covsched-loom>' -disable-output %t.ll 2>&1 | %FileCheck %s
#include <setjmp.h>
jmp_buf env;

// CHECK: {{^}}function 0 width {{.*}}loom-table-joins.c:[[@LINE+1]]
unsigned long width(unsigned long top) {
  int shift;
  if (setjmp(env))
    return 0;
  for (shift = 0; top > 7; shift++)
    top >>= 1;
  return shift;
}
