// What markers of recording tell each other does not cross: who was on the fast path meanwhile is not recorded. Else the fast path would
// carry it through its loops, for the slow one.
// RUN: env COVSCHED_PASS_OPTIONS='covsched-instrument,loom' %clang -O2 -g -fpass-plugin=%plugin -S -emit-llvm %s -o - | %FileCheck %s
#include <pthread.h>

long next(long);
extern pthread_mutex_t lock;

// Inlined, with an enter and a leave around it.
static long walk(long n) {
  long sum = 0;
  while (n) {
    pthread_mutex_lock(&lock);
    sum += n;
    pthread_mutex_unlock(&lock);
    n = next(n);
  }
  return sum;
}

// CHECK-LABEL: define hidden i64 @twice.in.
// CHECK-NOT: phi i32
// CHECK-NOT: @covsched_derived
// CHECK: phi i64
// CHECK-NOT: phi i32
// CHECK-NOT: @covsched_derived
// CHECK: {{^[}]$}}
// CHECK-LABEL: define internal {{.*}}@twice.slow(
// CHECK: %[[TOKEN:.*]] = {{.*}}call i32 @covsched_derived_enter(
// CHECK: call void @covsched_derived_leave(i32
long twice(long n) {
  return walk(n) + 1;
}
