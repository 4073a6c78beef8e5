// Volatile and atomic variables: their values are not concluded, and atomic operations write. The variables beside them that
// are ordered by locks are known.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int loose = 1;
static atomic_int counter = 1;
static _Atomic long exchanged;
static long expected;
static int input, plain = 1, added, swapped;

static void *worker(void *unused) {
  loose = 2;
  int a = loose; // NOT CONST t1 load
  atomic_store(&counter, 3);
  int b = atomic_load(&counter); // NOT CONST t1 load
  atomic_fetch_add(&counter, input);
  int c = atomic_load_explicit(&counter, memory_order_relaxed); // NOT CONST t1 load
  expected = 0;
  int d = atomic_compare_exchange_strong(&exchanged, &expected, input);
  expected = 1;
  int e = atomic_compare_exchange_strong(&exchanged, &expected, 2);
  int f = (int)expected; // NOT CONST t1 load
  added = 1;
  __atomic_fetch_add(&added, input, __ATOMIC_SEQ_CST);
  int g = added; // NOT CONST t1 load
  swapped = 1;
  int h = __atomic_exchange_n(&swapped, input, __ATOMIC_SEQ_CST);
  int i = swapped; // NOT CONST t1 load
  int j = plain;   // CONST t1 load 4
  printf("%d %d %d %d %d %d %d %d %d %d\n", a, b, c, d, e, f, g, h, i, j);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  plain = 4;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
