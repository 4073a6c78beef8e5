// verify<covsched-epochs>: markers put by hand are enough; each one taken away is missed, at its place.
// RUN: rm -rf %t && mkdir %t && cp %s %t/program.c
// RUN: cd %t && %clang -O0 -gline-tables-only -S -emit-llvm program.c -o all.ll
// RUN: cd %t && %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs;whole-program>' all.ll -S -o same.ll 2>&1 | %count 0
// RUN: cd %t && %opt all.ll -S -o plain.ll && cmp plain.ll same.ll
// RUN: cd %t && %clang -O1 -gline-tables-only -S -emit-llvm program.c -o O1.ll && %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs;whole-program>' -disable-output O1.ll

// RUN: cd %t && %clang -DNO_LOOP -O0 -gline-tables-only -S -emit-llvm program.c -o loop.ll
// RUN: cd %t && %not %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs;whole-program>' loop.ll -o loop.bc 2> loop.txt
// RUN: %FileCheck %s --check-prefix=LOOP --input-file=%t/loop.txt
// Nothing is written.
// RUN: test ! -s %t/loop.bc

// RUN: cd %t && %clang -DNO_DESCENT -O0 -gline-tables-only -S -emit-llvm program.c -o descent.ll
// RUN: cd %t && %not %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs;whole-program>' -disable-output descent.ll 2> descent.txt
// RUN: %FileCheck %s --check-prefix=DESCENT --input-file=%t/descent.txt

// RUN: cd %t && %clang -DNO_ASCENT -O0 -gline-tables-only -S -emit-llvm program.c -o ascent.ll
// RUN: cd %t && %not %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs;whole-program>' -disable-output ascent.ll 2> ascent.txt
// RUN: %FileCheck %s --check-prefix=ASCENT --input-file=%t/ascent.txt

// All at once: one error that lists the rest.
// RUN: cd %t && %clang -DNO_LOOP -DNO_DESCENT -DNO_ASCENT -O0 -gline-tables-only -S -emit-llvm program.c -o none.ll
// RUN: cd %t && %not %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs;whole-program>' -disable-output none.ll 2> none.txt
// RUN: %FileCheck %s --check-prefix=NONE --input-file=%t/none.txt

// The loop runs no code outside, but in the open world it might.
// RUN: cd %t && %clang -DOUTSIDE -O0 -gline-tables-only -S -emit-llvm program.c -o open.ll
// RUN: cd %t && %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs;whole-program>' -disable-output open.ll
// RUN: cd %t && %not %opt -load-pass-plugin=%plugin -passes='verify<covsched-epochs>' -disable-output open.ll 2> open.txt
// RUN: %FileCheck %s --check-prefix=OPEN --input-file=%t/open.txt
#include <pthread.h>

void covsched_epoch_marker(unsigned long site);

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int ready;

void increments(int n) {
  for (int i = 0; i < n; i++) {
#ifndef NO_LOOP
    covsched_epoch_marker(1);
#endif
    // LOOP: program.c:[[@LINE+2]]:5: in function increments{{.*}}: covsched: in increments: a cycle without an epoch marker synchronizes: pthread_mutex_lock, pthread_mutex_unlock
    // NONE: program.c:[[@LINE+1]]:5: in function increments{{.*}}: covsched: in increments: a cycle
    pthread_mutex_lock(&m);
    ready++;
    pthread_mutex_unlock(&m);
  }
}
// LOOP-NEXT: run epoch-markers

// A wait loop is trivial.
void waits(void) {
  while (!ready)
    pthread_cond_wait(&c, &m);
}

void walks(int n) {
  if (n == 0)
    return;
#ifndef NO_DESCENT
  covsched_epoch_marker(2);
#endif
  // DESCENT: program.c:[[@LINE+2]]:3: {{.*}}in walks: recursion without an epoch marker on the way down synchronizes there: pthread_mutex_lock (among walks)
  // NONE-NEXT: program.c:[[@LINE+1]]:3: in walks: recursion without an epoch marker on the way down synchronizes there: pthread_mutex_lock
  pthread_mutex_lock(&m);
  walks(n - 1);
#ifndef NO_ASCENT
  covsched_epoch_marker(3);
#endif
  // ASCENT: program.c:[[@LINE+2]]:3: {{.*}}in walks: recursion without an epoch marker on the way back synchronizes there: pthread_mutex_unlock (among walks)
  // NONE-NEXT: program.c:[[@LINE+1]]:3: in walks: recursion without an epoch marker on the way back synchronizes there: pthread_mutex_unlock
  pthread_mutex_unlock(&m);
}
// NONE-NEXT: run epoch-markers

#ifdef OUTSIDE
void outside(void);
void calls(int n) {
  while (n--)
    // OPEN: program.c:[[@LINE+1]]:5: {{.*}}in calls: a cycle without an epoch marker synchronizes: call of code that is not known
    outside();
}
#endif
