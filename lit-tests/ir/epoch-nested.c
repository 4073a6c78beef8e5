// A loop in which another marker must execute on each iteration is covered, by that marker, maybe through calls; one in
// which it only may is not. no-covered gives them all their own.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;no-covered>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=OFF
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -disable-output %t.ll
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers<no-covered>,verify<covsched-epochs>' -disable-output %t.ll
// OFF-NOT: : covered
// OFF: 14 markers, 14 loops: 0 trivial, 0 covered
#include <pthread.h>
extern pthread_mutex_t m;
extern int input;

static void lock_and_unlock(void) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
}

// The inner loop's header runs whenever the loop is come to, even if its body does not.
// CHECK-DAG: loop {{.*}}epoch-nested.c:[[@LINE+4]]:5 nested: marker
// CHECK-DAG: loop {{.*}}epoch-nested.c:[[@LINE+2]]:3 nested: covered: passes marker {{[0-9a-f]+}} each time round{{$}}
void nested(int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      lock_and_unlock();
}

// CHECK-DAG: loop {{.*}}epoch-nested.c:[[@LINE+3]]:3 maybe_nested: marker
// CHECK-DAG: loop {{.*}}epoch-nested.c:[[@LINE+4]]:7 maybe_nested: marker
void maybe_nested(int n) {
  for (int i = 0; i < n; i++)
    if (input)
      for (int j = 0; j < n; j++)
        lock_and_unlock();
}

// CHECK-DAG: loop {{.*}}epoch-nested.c:[[@LINE+4]]:3 both_arms: covered: passes marker {{[0-9a-f]+}}, {{[0-9a-f]+}} each time round{{$}}
// CHECK-DAG: loop {{.*}}epoch-nested.c:[[@LINE+5]]:7 both_arms: marker
// CHECK-DAG: loop {{.*}}epoch-nested.c:[[@LINE+7]]:7 both_arms: marker
void both_arms(int n) {
  for (int i = 0; i < n; i++) {
    if (input) {
      for (int j = 0; j < n; j++)
        lock_and_unlock();
    } else {
      for (int j = 0; j < n; j++)
        pthread_mutex_lock(&m);
    }
  }
}

static void has_a_loop(int n) {
  for (int i = 0; i < n; i++)
    lock_and_unlock();
}
static void passes_it_on(int n) { has_a_loop(n); }
static void may_have_a_loop(int n) {
  if (n > 3)
    for (int i = 0; i < n; i++)
      lock_and_unlock();
}

// CHECK-DAG: loop {{.*}} covered_through_calls: covered: passes marker {{[0-9a-f]+}} each time round through passes_it_on
void covered_through_calls(int n) {
  for (int i = 0; i < n; i++) {
    lock_and_unlock();
    passes_it_on(n);
  }
}

// CHECK-DAG: loop {{.*}} not_covered_through_calls: marker
void not_covered_through_calls(int n) {
  for (int i = 0; i < n; i++) {
    lock_and_unlock();
    may_have_a_loop(n);
  }
}

// A loop that leaves before the call is not come round, so this one is covered.
// CHECK-DAG: loop {{.*}} leaves_early: covered
int leaves_early(int n) {
  for (int i = 0; i < n; i++) {
    lock_and_unlock();
    if (input)
      return 1;
    has_a_loop(n);
  }
  return 0;
}

// CHECK-DAG: loop {{.*}} goes_round_early: marker
void goes_round_early(int n) {
  for (int i = 0; i < n; i++) {
    lock_and_unlock();
    if (input)
      continue;
    has_a_loop(n);
  }
}

// A call that never returns is not come round, either, with or without the attribute.
__attribute__((noinline)) static void dies(void) { pthread_exit(0); }
// CHECK-DAG: loop {{.*}} dies_or_is_covered: covered
void dies_or_is_covered(int n) {
  for (int i = 0; i < n; i++) {
    lock_and_unlock();
    if (input)
      dies();
    else
      has_a_loop(n);
  }
}
