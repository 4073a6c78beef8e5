// Full LTO: units that were instrumented when they were compiled stay as they are, one that was not is instrumented at
// link time by lld with --load-pass-plugin; then also without the plugin in lld.
// RUN: rm -rf %t && mkdir %t && cp %s %t/one.c && cp %s %t/two.c
// RUN: %clang -O1 -c %S/../Inputs/stand-in.c -o %t/stand-in.o
// RUN: cd %t && %clang -O2 -flto -gline-tables-only -fpass-plugin=%plugin -c one.c
// RUN: cd %t && %clang -O2 -flto -gline-tables-only -fpass-plugin=%plugin -DTWO -c two.c -o two-with.o
// RUN: cd %t && %clang -O2 -flto -gline-tables-only -DTWO -c two.c -o two-without.o
// RUN: cd %t && %clang -fuse-ld=lld -flto one.o two-with.o stand-in.o -o with && ./with | %FileCheck %s --check-prefixes=CHECK,WITH
// RUN: cd %t && %clang -fuse-ld=lld -flto -Wl,--load-pass-plugin=%plugin one.o two-with.o stand-in.o -o both && ./both | %FileCheck %s --check-prefixes=CHECK,WITH
// RUN: cd %t && %clang -fuse-ld=lld -flto -Wl,--load-pass-plugin=%plugin one.o two-without.o stand-in.o -o late && ./late | %FileCheck %s --check-prefixes=CHECK,LATE
// Thin LTO needs no plugin in the linker:
// RUN: cd %t && %clang -O2 -flto=thin -gline-tables-only -fpass-plugin=%plugin -c one.c -o one-thin.o && %clang -O2 -flto=thin -gline-tables-only -fpass-plugin=%plugin -DTWO -c two.c -o two-thin.o
// RUN: cd %t && %clang -fuse-ld=lld -flto=thin one-thin.o two-thin.o stand-in.o -o thin && ./thin | %FileCheck %s --check-prefixes=CHECK,WITH
// Nothing but the linker:
// RUN: cd %t && %clang -O2 -flto -gline-tables-only -c one.c -o one-without.o
// RUN: cd %t && %clang -fuse-ld=lld -flto -Wl,--load-pass-plugin=%plugin one-without.o two-without.o stand-in.o -o all && ./all | %FileCheck %s --check-prefixes=CHECK,ALL
// A wrong parameter stops the linker, too.
// RUN: cd %t && env COVSCHED_PASS_OPTIONS='covsched-instrument<x>' %not %clang -fuse-ld=lld -flto -Wl,--load-pass-plugin=%plugin one.o two-without.o stand-in.o -o bad 2>&1 | %FileCheck %s --check-prefix=BAD
// BAD: error: {{.*}}COVSCHED_PASS_OPTIONS: covsched-instrument: unknown parameter 'x'
// WITH-DAG: unit one.c: {{[0-9]+}} sites
// WITH-DAG: unit two.c: {{[0-9]+}} sites
// LATE-DAG: unit one.c: {{[0-9]+}} sites
// LATE-DAG: unit ld-temp.o: {{[0-9]+}} sites
// ALL: unit ld-temp.o: {{[0-9]+}} sites
// CHECK: registered
// Calls are hooked once, in both units.
// CHECK-NEXT: create
// CHECK-NEXT: lock
// CHECK-NEXT: unlock
// CHECK-NEXT: join {{[0-9a-f]+$}}
// CHECK-NOT: {{.}}
#include <pthread.h>
extern pthread_mutex_t m;
void *worker(void *p);
#ifdef TWO
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *p) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  return p;
}
#else
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_attr_t a;
  pthread_attr_init(&a);
  /* Wait without saying so, for a fixed order of the lines. */
  struct timespec ms = {0, 100000000};
  nanosleep(&ms, 0);
  pthread_join(t, 0);
  return 0;
}
#endif
