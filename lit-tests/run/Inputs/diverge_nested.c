// Two threads, each with an outer lock (its own, or on another input the same), and one inner lock for both. In
// the recorded run the second thread has the inner lock first, while the first holds its outer one. Who
// follows that with one outer lock waits forever: the first thread holds it, and waits for its turn. Arguments: the
// outer locks of the two; with `heap` as a third the locks are in memory that nobody initializes by a call.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t fixed[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER, *outer = fixed;
static int number[2], both_differ, count;
static atomic_int first_is_in, second_is_done;

static void both(int which) {
  pthread_mutex_lock(&outer[number[which]]); // DIVERGES nested
  // Seen by no schedule: the order in which the recorded run has to go.
  if (which == 0) {
    first_is_in = 1;
    while (both_differ && !second_is_done)
      ;
  }
  pthread_mutex_lock(&inner); // DIVERGES nested
  count += which + 1;
  pthread_mutex_unlock(&inner);
  pthread_mutex_unlock(&outer[number[which]]);
}

static void *first(void *arg) {
  both(0);
  return arg;
}

static void *second(void *arg) {
  while (!first_is_in)
    ;
  both(1);
  second_is_done = 1;
  return arg;
}

int main(int argc, char *argv[]) {
  pthread_t threads[2];
  if (argc < 3)
    return 2;
  number[0] = atoi(argv[1]);
  number[1] = atoi(argv[2]);
  both_differ = number[0] != number[1];
  if (argc > 3) {
    outer = malloc(2 * sizeof *outer);
    outer[0] = outer[1] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  }
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  printf("count %d\n", count);
  return 0;
}
