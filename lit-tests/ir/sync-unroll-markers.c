// sync-unroll before and after epoch-markers: either way one marker is left for N iterations, and one in the remainder.
// Markers of inner loops stay in each copy; a loop around one that is gone gets its own.
// RUN: %clang -O2 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=4>,epoch-markers,verify,verify<covsched-epochs>' -S %t.ll -o %t.first.ll
// RUN: %FileCheck %s < %t.first.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,sync-unroll<factor=4;verbose>,verify,verify<covsched-epochs>' -S %t.ll -o %t.last.ll 2> %t.err
// RUN: %FileCheck %s < %t.last.ll
// RUN: %FileCheck %s --check-prefix=SAYS < %t.err
// Each pass again, in both orders, changes nothing.
// RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=4>,epoch-markers,sync-unroll<factor=4>,epoch-markers' -S %t.ll -o %t.again.ll
// RUN: diff %t.first.ll %t.again.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,sync-unroll<factor=4>,epoch-markers,sync-unroll<factor=4>' -S %t.ll -o %t.again.ll
// RUN: diff %t.last.ll %t.again.ll
// The same with hooks, before and after.
// RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,epoch-markers,sync-unroll<factor=4>,verify,verify<covsched-epochs>' -S %t.ll | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,sync-unroll<factor=4>,epoch-markers,verify,verify<covsched-epochs>' -S %t.ll | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,sync-unroll<factor=4>,covsched-instrument<no-bitcode>,verify,verify<covsched-epochs>' -S %t.ll | %FileCheck %s
// And as -O0 gives it.
// RUN: %clang -O0 -g -Xclang -disable-O0-optnone -S -emit-llvm %s -o %t.O0.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=4>,epoch-markers,verify,verify<covsched-epochs>' -S %t.O0.ll | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,sync-unroll<factor=4>,verify,verify<covsched-epochs>' -S %t.O0.ll | %FileCheck %s
#include <pthread.h>

pthread_mutex_t m;
pthread_cond_t changed;
pthread_barrier_t all;
long sum;

static void locked_add(long n) {
  pthread_mutex_lock(&m);
  sum += n;
  pthread_mutex_unlock(&m);
}

// One in the loop, one in the remainder.
// SAYS-DAG: [[@LINE+6]]:3: with_remainder: loop unrolled 4 times with remainder
// CHECK-LABEL: define {{.*}}@with_remainder(
// CHECK-COUNT-2: call void @covsched_epoch_marker(
// CHECK-NOT: @covsched_epoch_marker(
// CHECK: ret void
void with_remainder(int n) {
  for (int i = 0; i < n; i++)
    locked_add(i);
}

// SAYS-DAG: [[@LINE+6]]:3: with_exits: loop unrolled 4 times with all exits
// CHECK-LABEL: define {{.*}}@with_exits(
// CHECK-COUNT-1: call void @covsched_epoch_marker(
// CHECK-NOT: @covsched_epoch_marker(
// CHECK: ret void
void with_exits(void) {
  while (sum < 100)
    locked_add(3);
}

// No loop is left, and no marker.
// SAYS-DAG: [[@LINE+5]]:3: gone: loop unrolled fully, 3 iterations
// CHECK-LABEL: define {{.*}}@gone(
// CHECK-NOT: @covsched_epoch_marker(
// CHECK: ret void
void gone(void) {
  for (int i = 0; i < 3; i++)
    locked_add(i);
}

// The inner loop covers the outer one, which is left alone. It goes on doing so: a remainder might be skipped.
// SAYS-DAG: [[@LINE+8]]:5: covered: loop unrolled 4 times with all exits
// SAYS-DAG: [[@LINE+6]]:3: covered: loop left alone: covered by a marker inside of it
// CHECK-LABEL: define {{.*}}@covered(
// CHECK-COUNT-1: call void @covsched_epoch_marker(
// CHECK-NOT: @covsched_epoch_marker(
// CHECK: ret void
void covered(int n, int k) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < k; j++)
      locked_add(j);
}

// The inner loop goes, and with it what covered the outer one: that has a marker, and is unrolled in turn.
// SAYS-DAG: [[@LINE+7]]:5: uncovered: loop unrolled fully, 2 iterations
// SAYS-DAG: [[@LINE+5]]:3: uncovered: loop unrolled 4 times with {{remainder|all exits}}
// CHECK-LABEL: define {{.*}}@uncovered(
// CHECK: call void @covsched_epoch_marker(
// CHECK: ret void
void uncovered(int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < 2; j++)
      locked_add(j);
}

// Trivial loops, and those with a barrier, have no marker and are left alone.
// SAYS-DAG: [[@LINE+6]]:3: trivial: loop left alone: trivial
// CHECK-LABEL: define {{.*}}@trivial(
// CHECK-COUNT-1: call i32 @{{(covsched_)?}}pthread_cond_wait(
// CHECK-NOT: @{{(covsched_)?}}pthread_cond_wait(
// CHECK: ret void
void trivial(void) {
  while (sum == 0)
    pthread_cond_wait(&changed, &m);
}

// SAYS-DAG: [[@LINE+6]]:3: phases: loop left alone: it passes a barrier
// CHECK-LABEL: define {{.*}}@phases(
// CHECK-COUNT-1: call i32 @{{(covsched_)?}}pthread_barrier_wait(
// CHECK-NOT: @{{(covsched_)?}}pthread_barrier_wait(
// CHECK: ret void
void phases(int n) {
  for (int i = 0; i < n; i++)
    pthread_barrier_wait(&all);
}

// CHECK-LABEL: define {{.*}}@end(
void end(void) {}
