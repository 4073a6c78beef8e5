// Every call that the pass adds has a source line: the call's, the function's for an entry, the return's for an exit.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>,covsched-instrument<no-bitcode>,verify' -S %t.ll -o %t.2.ll 2> %t.txt
// RUN: %FileCheck %s --check-prefix=SITES < %t.txt
// RUN: grep '@covsched_[a-z_]*(' %t.2.ll | grep 'call' | grep -v 'call void @covsched_register' | %not grep -v '!dbg'
#include <pthread.h>
void unknown(void);
pthread_mutex_t m;

// SITES-DAG: entry {{.*}}debug-info.c:[[@LINE+1]]:0 worker -> -
void *worker(void *p) {
  // SITES-DAG: true {{.*}}debug-info.c:[[@LINE+1]]:3 worker -> pthread_mutex_lock
  pthread_mutex_lock(&m);
  // SITES-DAG: derived {{.*}}debug-info.c:[[@LINE+1]]:3 worker -> unknown
  unknown();
  // SITES-DAG: exit {{.*}}debug-info.c:[[@LINE+1]]:3 worker -> -
  return p;
}
