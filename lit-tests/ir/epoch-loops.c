// A loop that may synchronize gets a marker in its header, whatever its shape; one that does not gets none. What each
// loop got is printed, the module is one that LLVM accepts, and the bound verifier agrees. Code as front ends make it
// without and with optimization in mind, and after optimization.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.0.ll
// RUN: %clang -g -O2 -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.1.ll
// RUN: %clang -g -O2 -fno-inline -fno-unroll-loops -S -emit-llvm %s -o %t.2.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.0.ll 2>&1 | %FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.0.ll 2>&1 | %FileCheck %s --check-prefix=NONE
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.1.ll 2>&1 | %FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.1.ll 2>&1 | %FileCheck %s --check-prefix=NONE
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.2.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.2.ll 2>&1 | %FileCheck %s --check-prefix=NONE
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -S %t.0.ll -o %t.0.marked.ll
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -S %t.1.ll -o %t.1.marked.ll
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -S %t.2.ll -o %t.2.marked.ll
// A marker has the line of its loop.
// RUN: grep 'call void @covsched_epoch_marker' %t.0.marked.ll | %not grep -v '!dbg'
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.0.marked.ll 2>&1 | %FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.0.marked.ll 2>&1 | %FileCheck %s --check-prefix=NONE
#include <pthread.h>
extern pthread_mutex_t m;
extern int input;

static void once(void) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
}

// CHECK-DAG: marker {{.*}}epoch-loops.c:[[@LINE+3]]:3 a_for_loop: {{[0-9a-f]+}} loop
// CHECK-DAG: loop {{.*}}epoch-loops.c:[[@LINE+2]]:3 a_for_loop: marker: may synchronize each time round: pthread_mutex_lock, pthread_mutex_unlock
void a_for_loop(int n) {
  for (int i = 0; i < n; i++) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
  }
}

// PLAIN-DAG: loop {{.*}}epoch-loops.c:[[@LINE+2]]:3 a_while_loop: marker
void a_while_loop(volatile int *n) {
  while (*n) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
  }
}

// PLAIN-DAG: loop {{.*}}epoch-loops.c:[[@LINE+2]]:3 a_do_loop: marker
void a_do_loop(volatile int *n) {
  do {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
  } while (*n);
}

// CHECK-DAG: loop {{.*}} endless: marker: may synchronize each time round: pthread_mutex_lock
void endless(void) {
  for (;;)
    pthread_mutex_lock(&m);
}

// Several exits, and a way back that does not synchronize.
// CHECK-DAG: loop {{.*}} several_exits: marker
int several_exits(volatile int *n) {
  while (1) {
    if (n[0])
      return 1;
    if (n[1])
      continue;
    if (n[2])
      break;
    pthread_mutex_lock(&m);
    if (n[3])
      return 2;
    pthread_mutex_unlock(&m);
  }
  return 3;
}

// Only now and then.
// CHECK-DAG: loop {{.*}} only_maybe: marker: may synchronize each time round: pthread_mutex_lock, pthread_mutex_unlock
void only_maybe(int n, volatile int *p) {
  for (int i = 0; i < n; i++)
    if (p[i]) {
      pthread_mutex_lock(&m);
      pthread_mutex_unlock(&m);
    }
}

// CHECK-DAG: loop {{.*}} through_a_call: marker: may synchronize each time round: once
void through_a_call(int n) {
  for (int i = 0; i < n; i++)
    once();
}

// CHECK-DAG: loop {{.*}} switches: marker
void switches(volatile int *n) {
  for (;;)
    switch (*n) {
    case 1:
    case 2:
      pthread_mutex_lock(&m);
      break;
    case 3:
      return;
    default:
      continue;
    }
}

// What is on the way out is not in the loop.
// NONE-NOT: on_the_way_out
void on_the_way_out(int *n) {
  while (*n)
    if (n[1]) {
      pthread_mutex_lock(&m);
      break;
    }
}

// NONE-NOT: computes
int computes(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += i * sum;
  return sum;
}

// Unlock and exit once.
// NONE-NOT: gives_up
void gives_up(int *n) {
  while (*n)
    if (n[1])
      pthread_exit(0);
}
