// sync-unroll does the loops of C in each of their forms, at each level of the front end, and what comes out is valid,
// debug info included. What synchronizes is there once for each copy of the body.
// RUN: %clang -O2 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.O2.ll
// RUN: %clang -O1 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.O1.ll
// RUN: %clang -O0 -g -Xclang -disable-O0-optnone -S -emit-llvm %s -o %t.O0.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=4;verbose>,verify' -S %t.O2.ll -o %t.O2.done.ll 2> %t.O2.err
// RUN: %FileCheck %s < %t.O2.done.ll
// RUN: %FileCheck %s --check-prefix=SAYS < %t.O2.err
// RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=4;verbose>,verify' -S %t.O1.ll -o %t.O1.done.ll 2> %t.O1.err
// RUN: %FileCheck %s < %t.O1.done.ll
// RUN: %FileCheck %s --check-prefix=SAYS < %t.O1.err
// RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=4;verbose>,verify' -S %t.O0.ll -o %t.O0.done.ll 2> %t.O0.err
// RUN: %FileCheck %s < %t.O0.done.ll
// RUN: %FileCheck %s --check-prefix=SAYS < %t.O0.err
// A second run changes nothing, and says why.
// RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=4>,sync-unroll<factor=4;verbose>' -S %t.O2.ll -o %t.again.ll 2> %t.again.err
// RUN: diff %t.O2.done.ll %t.again.ll
// RUN: %FileCheck %s --check-prefix=AGAIN < %t.again.err
// Nor do LLVM's own unrollers touch what is done.
// RUN: %opt -passes='loop-simplify,lcssa,loop-unroll<O3>' -S %t.O2.done.ll -o - | %FileCheck %s --check-prefix=LATER
#include <pthread.h>

pthread_mutex_t m;
long sum;

static int next(void) { return sum > 1000 ? -1 : (int)sum % 7; }

// SAYS: [[@LINE+5]]:3: runtime_count: loop unrolled 4 times with remainder
// CHECK-LABEL: define {{.*}}@runtime_count(
// CHECK-COUNT-5: call i32 @pthread_mutex_lock(
// CHECK-NOT: call i32 @pthread_mutex_lock(
void runtime_count(int n) {
  for (int i = 0; i < n; i++) {
    pthread_mutex_lock(&m);
    sum += i;
    pthread_mutex_unlock(&m);
  }
}

// SAYS: [[@LINE+6]]:3: three: loop unrolled fully, 3 iterations
// CHECK-LABEL: define {{.*}}@three(
// CHECK-COUNT-3: call i32 @pthread_mutex_lock(
// CHECK-NOT: call i32 @pthread_mutex_lock(
// CHECK-NOT: !llvm.loop
void three(void) {
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(&m);
    sum += i;
    pthread_mutex_unlock(&m);
  }
}

// SAYS: [[@LINE+5]]:3: at_most_three: loop unrolled fully, at most 3 iterations
// CHECK-LABEL: define {{.*}}@at_most_three(
// CHECK-COUNT-3: call i32 @pthread_mutex_lock(
// CHECK-NOT: call i32 @pthread_mutex_lock(
void at_most_three(void) {
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(&m);
    sum += i;
    pthread_mutex_unlock(&m);
    if (next() == 5)
      break;
  }
}

// SAYS: [[@LINE+5]]:3: ten: loop unrolled 4 times, the number of iterations is a constant
// CHECK-LABEL: define {{.*}}@ten(
// CHECK-COUNT-4: call i32 @pthread_mutex_lock(
// CHECK-NOT: call i32 @pthread_mutex_lock(
void ten(void) {
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&m);
    sum += i;
    pthread_mutex_unlock(&m);
  }
}

// SAYS: [[@LINE+6]]:3: without_count: loop unrolled 4 times with all exits
// CHECK-LABEL: define {{.*}}@without_count(
// CHECK-COUNT-4: call i32 @pthread_mutex_lock(
// CHECK-NOT: call i32 @pthread_mutex_lock(
void without_count(void) {
  int got;
  while ((got = next()) >= 0) {
    pthread_mutex_lock(&m);
    sum += got;
    pthread_mutex_unlock(&m);
  }
}

// SAYS: [[@LINE+5]]:3: several_exits: loop unrolled 4 times with all exits
// CHECK-LABEL: define {{.*}}@several_exits(
// CHECK-COUNT-4: call i32 @pthread_mutex_lock(
// CHECK-NOT: call i32 @pthread_mutex_lock(
long several_exits(int n) {
  for (int i = 0; i < n; i++) {
    pthread_mutex_lock(&m);
    long now = sum;
    pthread_mutex_unlock(&m);
    if (now == 7)
      continue;
    if (now > 100)
      break;
    if (now < 0)
      return now;
  }
  return 0;
}

// SAYS: [[@LINE+5]]:3: do_while: loop unrolled 4 times with remainder
// CHECK-LABEL: define {{.*}}@do_while(
// CHECK-COUNT-5: call i32 @pthread_mutex_lock(
// CHECK-NOT: call i32 @pthread_mutex_lock(
void do_while(int n) {
  do {
    pthread_mutex_lock(&m);
    sum += n;
    pthread_mutex_unlock(&m);
  } while (--n > 0);
}

// SAYS: [[@LINE+5]]:3: endless: loop unrolled 4 times with all exits
// CHECK-LABEL: define {{.*}}@endless(
// CHECK-COUNT-4: call i32 @pthread_mutex_lock(
// CHECK-NOT: call i32 @pthread_mutex_lock(
void endless(void) {
  for (;;) {
    pthread_mutex_lock(&m);
    sum += 1;
    pthread_mutex_unlock(&m);
  }
}

// A switch at the end of the loop: several ways back to its start.
// SAYS: [[@LINE+5]]:3: ways_back: loop unrolled 4 times with all exits
// CHECK-LABEL: define {{.*}}@ways_back(
// CHECK-COUNT-4: call i32 @pthread_mutex_lock(
// CHECK-NOT: call i32 @pthread_mutex_lock(
void ways_back(void) {
  for (;;) {
    pthread_mutex_lock(&m);
    long now = sum++;
    pthread_mutex_unlock(&m);
    switch (now) {
    case 1:
    case 2:
      continue;
    case 3:
      sum = 0;
      continue;
    default:
      return;
    }
  }
}

// Not even its locals are touched.
// SAYS-NOT: no_synchronization: loop unrolled
// CHECK-LABEL: define {{.*}}@no_synchronization(
// CHECK: alloca i64
// LATER-LABEL: define {{.*}}@runtime_count(
// LATER-COUNT-5: call i32 @pthread_mutex_lock(
// LATER-NOT: call i32 @pthread_mutex_lock(
// LATER: define
long no_synchronization(const long *values, int n) {
  long all = 0;
  for (int i = 0; i < n; i++)
    all += values[i];
  return all;
}

// SAYS: sync-unroll: 9 unrolled
// AGAIN: runtime_count: loop not unrolled: it is unrolled already
// AGAIN: sync-unroll: 0 unrolled
// CHECK: !"llvm.loop.unroll.disable"
// CHECK: !"covsched.unrolled"
