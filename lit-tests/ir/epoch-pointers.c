// A call through a pointer may come to each function whose address is taken and whose type fits: it covers a loop only
// if all of them do. In a unit compiled alone it may come to unknown code, too.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;whole-program>' -disable-output %t.ll 2>&1 | %FileCheck %s
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;whole-program>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=NONE
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=OPEN
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -disable-output %t.ll
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers<whole-program>,verify<covsched-epochs;whole-program>' -disable-output %t.ll
#include <pthread.h>
#include <stdlib.h>
extern pthread_mutex_t m;
extern int input;

static void covers(int n) {
  for (int i = 0; i < n; i++) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
  }
}
static void covers_too(int n) {
  while (input) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
  }
}
static void covers_not(long n) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
}
static void covers_long(long n) { covers(n); }
static int harmless(char c) { return c; }
void (*of_int[])(int) = {covers, covers_too};
void (*of_long[])(long) = {covers_not, covers_long};
int (*of_char)(char) = harmless;

// CHECK-DAG: loop {{.*}} all_cover: covered: passes marker {{[0-9a-f]+}}, {{[0-9a-f]+}} each time round through {{.*}}covers
// OPEN-DAG: loop {{.*}} all_cover: marker: may synchronize each time round: code that is not known
void all_cover(int n) {
  for (int i = 0; i < n; i++)
    of_int[i](n);
}

// CHECK-DAG: loop {{.*}} one_does_not: marker: may synchronize each time round: covers_not
void one_does_not(int n) {
  for (int i = 0; i < n; i++)
    of_long[i](n);
}

// NONE-NOT: loop {{.*}} no_target_synchronizes
// OPEN-DAG: loop {{.*}} no_target_synchronizes: marker
int no_target_synchronizes(int n) {
  for (int i = 0; i < n; i++)
    n += of_char(i);
  return n;
}

// What is only ever given to pthread_create is not called through other pointers of its type.
static void *thread(void *p) {
  pthread_mutex_lock(&m);
  return p;
}
static void *identity(void *p) { return p; }
void *(*of_pointer)(void *) = identity;
// NONE-NOT: loop {{.*}} threads_are_not_called
void *threads_are_not_called(void *p, int n) {
  pthread_t t;
  pthread_create(&t, 0, thread, p);
  for (int i = 0; i < n; i++)
    p = of_pointer(p);
  return p;
}

// A library function may run what it is given, and need not.
static int compares(const void *a, const void *b) {
  covers(3);
  return a < b;
}
static int compares_quietly(const void *a, const void *b) { return a < b; }
// CHECK-DAG: loop {{.*}} sorts: marker: may synchronize each time round: compares
// OPEN-DAG: loop {{.*}} sorts: marker
void sorts(int n, int *data) {
  for (int i = 0; i < n; i++)
    qsort(data, n, sizeof *data, compares);
}
// NONE-NOT: loop {{.*}} sorts_quietly
void sorts_quietly(int n, int *data) {
  for (int i = 0; i < n; i++)
    qsort(data, n, sizeof *data, compares_quietly);
}
static void initializes(void) { pthread_mutex_lock(&m); }
// CHECK-DAG: loop {{.*}} runs_once: marker: may synchronize each time round: pthread_once, initializes
void runs_once(int n, pthread_once_t *o) {
  for (int i = 0; i < n; i++)
    pthread_once(&o[i], initializes);
}
// The address of a synchronizing function.
int (*locks)(pthread_mutex_t *) = pthread_mutex_lock;
// CHECK-DAG: loop {{.*}} calls_lock: marker
void calls_lock(int n) {
  for (int i = 0; i < n; i++)
    locks(&m);
}
