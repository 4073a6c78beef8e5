// Bounds that come from a division, as in Wu's Figure 4.1: where one part ends the next begins, whatever the size is; with
// signed and with unsigned numbers.
// RECORDED: 2 10
// COVERED: 2 1000
// COVERED: 2 0
// LEAVES: 3 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8, CELLS = 1200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next;
static struct {
  int first, last;
} ranges[MOST];
static unsigned starts[MOST + 1];
static int cells[CELLS], others[CELLS];

static void *worker(void *unused) {
  pthread_mutex_lock(&lock);
  int id = next++; // CONST t1 load ?a; CONST t2 load ?b
  pthread_mutex_unlock(&lock);
  for (int i = ranges[id].first; i < ranges[id].last; ++i)
    cells[i] = i * i; // DISJOINT self
  for (unsigned i = starts[id]; i < starts[id + 1]; ++i)
    others[i] = (int)i + 1; // DISJOINT self
  return unused;
}

int main(int count, char **arguments) {
  int p = count > 1 ? atoi(arguments[1]) : 2, n = count > 2 ? atoi(arguments[2]) : 10; // CONST t0 call 2
  if (p < 1 || p > MOST || n < 0 || n > 1000)
    return 2;
  pthread_t threads[MOST];
  for (int i = 0; i < p; ++i) { // TRIPS t0 2
    ranges[i].first = n * i / p;
    ranges[i].last = n * (i + 1) / p;
  }
  for (unsigned i = 0; i <= (unsigned)p; ++i) // TRIPS t0 3
    starts[i] = (unsigned)n * i / (unsigned)p;
  for (int i = 0; i < p; ++i)
    pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < p; ++i)
    pthread_join(threads[i], NULL);
  long sum = 0;
  for (int i = 0; i <= n; ++i)
    sum += cells[i] + others[i] * 2L;
  printf("%ld\n", sum);
  return 0;
}
