// One of two threads stores, and after the barrier both read it: 2, and then something that is input.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static int input, shared = 1, results[2];

static void *worker(void *arg) {
  long id = (long)arg;
  if (id == 0) // TAKEN t1 true; TAKEN t2 false
    shared = 2;
  pthread_barrier_wait(&barrier);
  int both = shared; // CONST t1 load 2; CONST t2 load 2
  pthread_barrier_wait(&barrier);
  if (id == 1)
    shared = input;
  pthread_barrier_wait(&barrier);
  int last = shared; // NOT CONST t1 load; NOT CONST t2 load
  results[id] = both * 100 + last;
  return NULL;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t threads[2];
  pthread_barrier_init(&barrier, NULL, 2);
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("%d %d\n", results[0], results[1]);
  return 0;
}
