// A loop whose exit waits for what another thread writes gets a marker, or an epoch would never end: C11 atomics, volatile
// variables, GCC's builtins, through local variables, conditions and calls. A loop that only uses atomics does not.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.0.ll
// RUN: %clang -g -O2 -S -emit-llvm %s -o %t.2.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.0.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.0.ll 2>&1 | %FileCheck %s --check-prefix=NONE
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.2.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.2.ll 2>&1 | %FileCheck %s --check-prefix=NONE
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -disable-output %t.0.ll
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -disable-output %t.2.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers' -S %t.0.ll | %FileCheck %s --check-prefix=IR
#include <stdatomic.h>
extern atomic_int flag, other;
extern volatile int vflag;
extern int plain;
extern int data[];

// CHECK-DAG: marker {{.*}} on_an_atomic: {{[0-9a-f]+}} spin
// CHECK-DAG: loop {{.*}} on_an_atomic: spin: waits for what another thread writes to memory
// IR-LABEL: define{{.*}} void @on_an_atomic(
// IR-NOT: @covsched_epoch_marker(
// IR: call void @covsched_epoch_spin(i64
// IR: ret void
void on_an_atomic(void) {
  while (!atomic_load(&flag))
    ;
}
// CHECK-DAG: loop {{.*}} on_a_volatile: spin
void on_a_volatile(void) {
  while (!vflag)
    ;
}
// CHECK-DAG: loop {{.*}} takes_a_lock: spin
void takes_a_lock(void) {
  int expected = 0;
  while (!atomic_compare_exchange_weak(&flag, &expected, 1))
    expected = 0;
}
// CHECK-DAG: loop {{.*}} tests_and_sets: spin
void tests_and_sets(atomic_flag *f) {
  while (atomic_flag_test_and_set(f))
    ;
}
// CHECK-DAG: loop {{.*}} through_a_variable: spin
void through_a_variable(void) {
  int seen, round = 0;
  do {
    seen = __atomic_load_n(&plain, __ATOMIC_ACQUIRE);
    round++;
  } while (seen == 0);
}
// CHECK-DAG: loop {{.*}} one_of_two: spin
void one_of_two(int n) {
  while (n && (atomic_load(&flag) || atomic_load(&other)))
    n = data[n];
}
__attribute__((noinline)) static int is_done(void) {
  if (atomic_load(&flag))
    return 1;
  return 0;
}
// CHECK-DAG: loop {{.*}} through_a_call: spin
void through_a_call(void) {
  while (!is_done())
    ;
}
// CHECK-DAG: loop {{.*}} breaks_out: spin
void breaks_out(void) {
  for (int i = 0;; i++) {
    if (atomic_load(&flag))
      break;
    data[i & 7]++;
  }
}

// NONE-NOT: counts_up
void counts_up(int n) {
  for (int i = 0; i < n; i++)
    atomic_fetch_add(&flag, 1);
}
// NONE-NOT: reads_before
int reads_before(void) {
  int n = atomic_load(&flag), sum = 0;
  for (int i = 0; i < n; i++)
    sum += data[i];
  return sum;
}
// NONE-NOT: sums
int sums(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    if (atomic_load(&flag))
      sum += data[i];
  return sum;
}
// A volatile variable of the function's own is nobody else's.
// NONE-NOT: counts_volatile
void counts_volatile(void) {
  for (volatile int i = 0; i < 100; i++)
    data[0]++;
}
