// A barrier of the program's own is an epoch marker, if each iteration passes it. no-barrier: it is not.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;no-barrier>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=OFF
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;json>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=JSON
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -disable-output %t.ll
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers<no-barrier>,verify<covsched-epochs>' -disable-output %t.ll
// OFF: 4 markers, 4 loops: 0 trivial, 0 covered, 0 barrier
#include <pthread.h>
extern pthread_mutex_t m;
extern pthread_barrier_t b;
extern int input;

// CHECK-DAG: loop {{.*}} phases: barrier: passes the barrier at {{.*}}epoch-barrier.c:[[@LINE+4]] each time round{{$}}
void phases(int n) {
  for (int i = 0; i < n; i++) {
    pthread_mutex_lock(&m);
    pthread_barrier_wait(&b);
    pthread_mutex_unlock(&m);
  }
}

static void meet(void) { pthread_barrier_wait(&b); }
// CHECK-DAG: loop {{.*}} phases_through_a_call: barrier: passes the barrier at {{.*}}epoch-barrier.c:[[@LINE-1]] each time round through meet
void phases_through_a_call(int n) {
  for (int i = 0; i < n; i++)
    meet();
}

// CHECK-DAG: loop {{.*}} now_and_then: marker
void now_and_then(int n) {
  for (int i = 0; i < n; i++) {
    pthread_mutex_lock(&m);
    if (input)
      pthread_barrier_wait(&b);
  }
}

// CHECK-DAG: loop {{.*}} skips_it: marker
void skips_it(int n) {
  for (int i = 0; i < n; i++) {
    pthread_mutex_lock(&m);
    if (input)
      continue;
    pthread_barrier_wait(&b);
  }
}

// JSON: "version": 1,
// JSON: "whole_program": false,
// JSON: "placed": false,
// JSON: "markers": [
// JSON: "why": "loop"
// JSON: "loops": [
// JSON: "function": "phases",
// JSON-NEXT: "decision": "barrier",
// JSON-NEXT: "marker": null,
// JSON-NEXT: "covered_by": [],
// JSON-NEXT: "through": [],
// JSON-NEXT: "barrier": {
// JSON-NEXT: "file": "{{.*}}epoch-barrier.c",
// JSON-NEXT: "line": 18
// JSON-NEXT: },
// JSON-NEXT: "reason": "passes the barrier at
// JSON: "summary": {
// JSON-NEXT: "loops": 4,
// JSON-NEXT: "markers": 2,
// JSON-NEXT: "trivial": 0,
// JSON-NEXT: "covered": 0,
// JSON-NEXT: "barrier": 2,
// JSON-NEXT: "spin": 0,
// JSON-NEXT: "recursion": 0,
// JSON-NEXT: "limits": 0,
// JSON-NEXT: "unbounded": 0
