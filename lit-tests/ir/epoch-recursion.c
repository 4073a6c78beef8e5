// Recursion that synchronizes gets markers where it does so: on the way down at a function's entry, on the way back after
// the call; a cycle of several functions gets one a way; recursion that passes a loop's marker gets none.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=NONE
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;json>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=JSON
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -S %t.ll -o %t.marked.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers' -S < %t.marked.ll -o %t.again.ll
// RUN: %opt -passes=verify -S < %t.marked.ll -o %t.read.ll
// RUN: diff %t.read.ll %t.again.ll
#include <pthread.h>
extern pthread_mutex_t m;
extern pthread_t t;
struct node { struct node *left, *right; int count; };

static void lock_and_unlock(void) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
}

// CHECK-DAG: marker {{.*}}:[[@LINE+2]]:0 down: {{[0-9a-f]+}} recursion
// CHECK-DAG: recursion down: may synchronize at any depth
void down(int n) {
  lock_and_unlock();
  if (n)
    down(n - 1);
}

// CHECK-DAG: marker {{.*}}:[[@LINE+3]]:5 back: {{[0-9a-f]+}} recursion
void back(int n) {
  if (n)
    back(n - 1);
  lock_and_unlock();
}

// CHECK-DAG: marker {{.*}}:[[@LINE+2]]:0 down_and_back: {{[0-9a-f]+}} recursion
// CHECK-DAG: marker {{.*}}:[[@LINE+4]]:5 down_and_back: {{[0-9a-f]+}} recursion
void down_and_back(int n) {
  pthread_mutex_lock(&m);
  if (n)
    down_and_back(n - 1);
  pthread_mutex_unlock(&m);
}

// One marker for the two.
void pong(int n);
// CHECK-DAG: recursion ping, pong: may synchronize at any depth
// CHECK-DAG: marker {{.*}}:[[@LINE+1]]:0 ping: {{[0-9a-f]+}} recursion
void ping(int n) {
  lock_and_unlock();
  pong(n);
}
// NONE-NOT: marker {{.*}} pong:
void pong(int n) {
  lock_and_unlock();
  if (n)
    ping(n - 1);
}

// After the last call is enough: what comes before it on the way back does not synchronize.
// NONE-NOT: marker {{.*}}:[[@LINE+5]]:3 walk:
// CHECK-DAG: marker {{.*}}:[[@LINE+5]]:3 walk: {{[0-9a-f]+}} recursion
void walk(struct node *n) {
  if (!n)
    return;
  walk(n->left);
  walk(n->right);
  lock_and_unlock();
}

// NONE-NOT: marker {{.*}} in_a_loop: {{[0-9a-f]+}} recursion
// CHECK-DAG: recursion in_a_loop: between two of its calls
void in_a_loop(struct node *n) {
  for (int i = 0; i < n->count; i++) {
    lock_and_unlock();
    in_a_loop(n + i);
  }
}

// NONE-NOT: marker {{.*}} creates:
// CHECK-DAG: recursion creates: between two of its calls
void creates(int n) {
  pthread_create(&t, 0, 0, 0);
  if (n)
    creates(n - 1);
}

// NONE-NOT: silent
int silent(int n) { return n ? silent(n - 1) + 1 : 0; }

// JSON: "recursions": [
// JSON: "functions": [
// JSON-NEXT: "down"
// JSON-NEXT: ],
// JSON-NEXT: "markers": [
// JSON-NEXT: "{{[0-9a-f]+}}"
// JSON-NEXT: ],
// JSON-NEXT: "reason": "may synchronize at any depth"
