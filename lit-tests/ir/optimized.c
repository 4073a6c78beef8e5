// At -O2 and -O3 no synchronization loses or changes its site: equal calls in two branches, inlined callees,
// unrolled loops, jump threading. Before the optimizer each call has its own site (BEFORE lists them); after it, hook
// calls still have constant sites, and only those.
// RUN: %clang -O2 -gline-tables-only -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output %t.ll 2>&1 | grep ' true ' | sort > %t.sites
// RUN: %FileCheck %s --check-prefix=BEFORE < %t.sites
// RUN: %opt -load-pass-plugin=%plugin -passes='default<O2>' -S %t.ll -o %t.O2.ll
// RUN: %opt -passes=verify -disable-output %t.O2.ll
// RUN: %FileCheck %s < %t.O2.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='default<O3>' -S %t.ll | %FileCheck %s
// The sites of all hook calls after -O3, as a set, are the sites of before.
// RUN: %opt -load-pass-plugin=%plugin -passes='default<O3>' -S %t.ll -o %t.O3.ll
// RUN: %not grep 'call .*@covsched_pthread.*i64 %' %t.O3.ll
// RUN: python3 %S/../Inputs/sites-in-ir.py %t.O3.ll > %t.after
// RUN: cut -d' ' -f1 %t.sites | sort -u > %t.before
// RUN: diff %t.before %t.after
#include <pthread.h>

pthread_mutex_t m;
int work(int);

// BEFORE-COUNT-12: true

// Two locks that differ in nothing but their site stay two calls.
// CHECK-LABEL: define {{.*}}@branches(
// CHECK: call i32 @covsched_pthread_mutex_lock(ptr noundef nonnull @m, i64 [[A:-?[0-9]+]])
// CHECK: call i32 @covsched_pthread_mutex_lock(ptr noundef nonnull @m, i64
// CHECK-NOT: i64 [[A]])
// CHECK: ret
int branches(int c) {
  int r;
  if (c > 3)
    r = pthread_mutex_lock(&m);
  else
    r = pthread_mutex_lock(&m);
  return r;
}

// Inlined twice: the same sites in each copy.
static void critical(int *p) {
  pthread_mutex_lock(&m);
  ++*p;
  pthread_mutex_unlock(&m);
}
// CHECK-LABEL: define {{.*}}@inlines(
// CHECK: call i32 @covsched_pthread_mutex_lock(ptr noundef nonnull @m, i64 [[L:-?[0-9]+]])
// CHECK: call i32 @covsched_pthread_mutex_unlock(ptr noundef nonnull @m, i64 [[U:-?[0-9]+]])
// CHECK: call i32 @covsched_pthread_mutex_lock(ptr noundef nonnull @m, i64 [[L]])
// CHECK: call i32 @covsched_pthread_mutex_unlock(ptr noundef nonnull @m, i64 [[U]])
void inlines(int *p) {
  critical(p);
  critical(p + 1);
}

// Unrolled: copies of one site.
// CHECK-LABEL: define {{.*}}@unrolls(
// CHECK-COUNT-3: call i32 @covsched_pthread_mutex_lock(ptr noundef nonnull %{{.*}}, i64 [[SAME:-?[0-9]+]])
void unrolls(pthread_mutex_t *all) {
  for (int i = 0; i < 4; i++) {
    pthread_mutex_lock(&all[i]);
    pthread_mutex_unlock(&all[i]);
  }
}

// Jump threading copies the second test's blocks; each lock keeps its site.
// CHECK-LABEL: define {{.*}}@threads_jumps(
int threads_jumps(int c) {
  if (c)
    pthread_mutex_lock(&m);
  int r = work(c);
  if (c)
    pthread_mutex_unlock(&m);
  else
    pthread_mutex_lock(&m);
  return r;
}

// A switch whose cases are equal but for the site.
int switches(int c) {
  switch (c) {
  case 1: return pthread_mutex_trylock(&m);
  case 2: return pthread_mutex_trylock(&m);
  default: return pthread_mutex_trylock(&m);
  }
}
