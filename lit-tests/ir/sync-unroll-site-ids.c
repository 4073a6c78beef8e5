// The id of a marker that sync-unroll took out is not given to another place: the site table still has it.
// RUN: %clang -g -O0 -S -emit-llvm %s -o - | sed 's/optnone //' > %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,covsched-instrument,print<covsched-sites>' -disable-output %t.ll 2> %t.before
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,covsched-instrument,sync-unroll<factor=4>,print<covsched-sites>' -disable-output %t.ll 2> %t.after
// RUN: grep -c ' epoch ' %t.before | %FileCheck %s --check-prefix=BEFORE
// RUN: grep ' epoch ' %t.after | cut -d' ' -f1 | sort -u | %count 2
// RUN: grep ' epoch ' %t.after | %FileCheck %s
// BEFORE: 1
#include <pthread.h>
extern pthread_mutex_t m;
void f(int n) {
  // CHECK-DAG: {{.*}} epoch {{.*}}:[[@LINE+1]]:3 f
  for (int i = 0; i < n; i++)
    // CHECK-DAG: {{.*}} epoch {{.*}}:[[@LINE+1]]:5 f
    for (int j = 0; j < 3; j++) {
      pthread_mutex_lock(&m);
      pthread_mutex_unlock(&m);
    }
}
