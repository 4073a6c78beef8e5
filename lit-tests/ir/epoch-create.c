// A loop that only creates or only joins threads is trivial if it ends for its own reasons: it has an exit, and none
// depends on what creating or joining gave. The others get a marker, and the verifier misses it.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,verify<covsched-epochs>' -disable-output %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument,print<covsched-epochs>' -disable-output %t.ll 2>&1 | %FileCheck %s
// RUN: %not %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs>' -disable-output %t.ll > %t.out 2>&1
// RUN: %FileCheck %s --check-prefix=VERIFY < %t.out
// RUN: grep -c 'a cycle without an epoch marker' %t.out | %FileCheck %s --check-prefix=COUNT
// COUNT: 6
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>
extern pthread_t t[8];
static void *worker(void *p) { return p; }
static int start(void *p) { return 0; }

// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 tries_again: marker
void tries_again(void) {
  while (pthread_create(&t[0], 0, worker, 0) == EAGAIN)
    ;
}

// The result through a local variable and a function.
static int create(int i) { return pthread_create(&t[i], 0, worker, 0); }
// CHECK-DAG: loop {{.*}}:[[@LINE+4]]:3 tries_again_inside: marker
// VERIFY-DAG: in tries_again_inside: a cycle without an epoch marker creates threads
void tries_again_inside(void) {
  int failed;
  do
    failed = create(0);
  while (failed);
}

// CHECK-DAG: loop {{.*}}:[[@LINE+3]]:3 serves: marker
// VERIFY-DAG: in serves: a cycle without an epoch marker creates threads (pthread_create), and it has no exit, or one that depends on what that gave
void serves(void) {
  for (;;)
    pthread_create(&t[0], 0, worker, 0);
}

// An exit that ends the program is none.
// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 serves_or_dies: marker
void serves_or_dies(void) {
  for (;;)
    if (pthread_create(&t[0], 0, worker, 0))
      abort();
}

// CHECK-DAG: loop {{.*}}:[[@LINE+3]]:3 joins_again: marker
// VERIFY-DAG: in joins_again: a cycle without an epoch marker joins threads
void joins_again(void) {
  while (pthread_join(t[0], 0) == EINVAL)
    ;
}

// CHECK-DAG: loop {{.*}}:[[@LINE+3]]:3 c11: marker
void c11(void) {
  thrd_t thread;
  while (thrd_create(&thread, start, 0) == thrd_nomem)
    ;
}

// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 creates: trivial: only creates threads, and ends whatever that gives
void creates(int n) {
  for (int i = 0; i < n; i++)
    pthread_create(&t[i], 0, worker, 0);
}

// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 creates_or_dies: trivial
void creates_or_dies(int n) {
  for (int i = 0; i < n; i++)
    if (pthread_create(&t[i], 0, worker, 0))
      abort();
}

// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 joins: trivial: only joins threads, and ends whatever that gives
void joins(int n) {
  for (int i = 0; i < n; i++)
    pthread_join(t[i], 0);
}
