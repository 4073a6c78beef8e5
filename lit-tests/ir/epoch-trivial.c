// Loops that wait, create or join and nothing else are trivial. Waits with a deadline are not, nor creating and joining
// in one loop. no-trivial gives them all a marker.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;no-trivial>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=OFF
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -disable-output %t.ll
// OFF-NOT: : trivial
// OFF: loop {{.*}} round_both: covered: passes marker {{.*}} each time round through forks_and_joins
// OFF: 10 markers, 11 loops: 0 trivial, 1 covered
#include <pthread.h>
#include <threads.h>
extern pthread_mutex_t m;
extern pthread_cond_t c;
extern int ready;
extern mtx_t m11;
extern cnd_t c11;
extern pthread_t t[8];
void *start(void *p) { return p; }

// CHECK-DAG: loop {{.*}}epoch-trivial.c:[[@LINE+3]]:3 waits: trivial: only waits on a condition variable, and all notifications are bounded
void waits(void) {
  pthread_mutex_lock(&m);
  while (!ready)
    pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
}

// CHECK-DAG: loop {{.*}} waits_in_c11: trivial: only waits
void waits_in_c11(void) {
  while (!ready)
    cnd_wait(&c11, &m11);
}

static void wait_for_it(void) { pthread_cond_wait(&c, &m); }
// CHECK-DAG: loop {{.*}} waits_in_a_call: trivial: only waits
void waits_in_a_call(void) {
  while (!ready)
    wait_for_it();
}

// CHECK-DAG: loop {{.*}} waits_until: marker
void waits_until(struct timespec *deadline) {
  while (!ready)
    pthread_cond_timedwait(&c, &m, deadline);
}

// CHECK-DAG: loop {{.*}} waits_and_unlocks: marker
void waits_and_unlocks(void) {
  while (!ready) {
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
  }
}

// CHECK-DAG: loop {{.*}} notifies: marker
void notifies(int n) {
  for (int i = 0; i < n; i++)
    pthread_cond_signal(&c);
}

// CHECK-DAG: loop {{.*}}:[[@LINE+4]]:3 forks_and_joins: trivial: only creates threads
// CHECK-DAG: loop {{.*}}:[[@LINE+5]]:3 forks_and_joins: trivial: only joins threads, and ends whatever that gives
// A loop round both is not trivial: it goes on for ever with few threads alive.
void forks_and_joins(void) {
  for (int i = 0; i < 8; i++)
    pthread_create(&t[i], 0, start, 0);
  for (int i = 0; i < 8; i++)
    pthread_join(t[i], 0);
}
// CHECK-DAG: loop {{.*}} round_both: marker: may synchronize each time round: forks_and_joins
void round_both(int n) {
  for (int i = 0; i < n; i++)
    forks_and_joins();
}
// CHECK-DAG: loop {{.*}} one_by_one: marker
void one_by_one(int n) {
  for (int i = 0; i < n; i++) {
    pthread_create(&t[0], 0, start, 0);
    pthread_join(t[0], 0);
  }
}
// CHECK-DAG: loop {{.*}} creates_and_detaches: marker
void creates_and_detaches(int n) {
  for (int i = 0; i < n; i++) {
    pthread_create(&t[0], 0, start, 0);
    pthread_detach(t[0]);
  }
}
