// What a load reads, a later load of another thread reads, too, if nothing is written in between. `p` is written on one of
// two ways, so no store is the latest for sure, but main has read it before it creates threads. `limit` is written
// again while the workers run: what main read before says nothing of what they read.
// RECORDED: 2 7
// COVERED: 2 9
// LEAVES: 3 7
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8 };

static int p = 4, limit = 5;
static int seen[MOST], limits[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
  long id = (long)arg;
  seen[id] = p; // CONST t1 load 2; CONST t2 load 2
  pthread_mutex_lock(&lock);
  limits[id] = limit; // NOT CONST t1 load; NOT CONST t2 load
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int count, char **arguments) {
  if (count > 1)
    p = atoi(arguments[1]);
  if (count > 2)
    limit = atoi(arguments[2]);
  if (p > MOST || limit < 0) // CONST t0 load 2; NOT CONST t0 load 7
    return 2;
  pthread_t threads[MOST];
  for (long i = 0; i < p; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  pthread_mutex_lock(&lock);
  limit += 10;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < p; i++)
    pthread_join(threads[i], NULL);
  printf("%d %d, %d\n", seen[0], seen[1], limit);
  return 0;
}
