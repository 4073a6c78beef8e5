// A cycle with several entries that waits for memory gets a marker at each, for spinning; one that waits for nothing none.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers' -S %t.ll -o %t.marked.ll
// RUN: grep -c 'call void @covsched_epoch_spin' %t.marked.ll | %FileCheck %s --check-prefix=COUNT
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers' -S < %t.marked.ll -o %t.again.ll
// RUN: %opt -passes=verify -S < %t.marked.ll -o %t.read.ll
// RUN: diff %t.read.ll %t.again.ll
// COUNT: 2
#include <stdatomic.h>
atomic_int flag;

// CHECK-COUNT-2: marker {{.*}} waits: {{[0-9a-f]+}} spin
// CHECK-NOT: counts
// CHECK: loop {{.*}} waits: limit: {{.*}}several entries
// CHECK-NOT: counts
int waits(int at_b) {
  if (at_b)
    goto b;
a:
  __asm__ volatile("");
b:
  if (!atomic_load(&flag))
    goto a;
  return 0;
}

int counts(int at_b, int n) {
  if (at_b)
    goto b;
a:
  __asm__ volatile("");
b:
  if (n--)
    goto a;
  return 0;
}
