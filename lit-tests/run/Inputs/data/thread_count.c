// The number of threads follows from the loop that creates them; with another number the run ends where the number comes
// from, before anything else is said. The loop before, which does not synchronize, has as many rounds.
// RECORDED: 2 10
// COVERED: 2 700
// COVERED: 2 0
// LEAVES: 3 10
// LEAVES: 1 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8 };

static int weights[MOST];
static long sums[MOST];

static void *worker(void *arg) {
  long id = (long)arg;
  int weight = weights[id]; // CONST t1 load 5; CONST t2 load 8
  sums[id] += weight * (id + 1);
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 3)
    return 2;
  int p = atoi(arguments[1]); // CONST t0 call 2
  int n = atoi(arguments[2]); // NOT CONST t0 call
  fprintf(stderr, "counted\n");
  if (p < 0 || p > MOST)
    return 2;
  for (int i = 0; i < p; i++) // TRIPS t0 2
    weights[i] = 3 * i + 5;
  pthread_t threads[MOST];
  for (long i = 0; i < p; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < p; i++)
    pthread_join(threads[i], NULL);
  printf("%ld %ld %d\n", sums[0], sums[1], n);
  return 0;
}
