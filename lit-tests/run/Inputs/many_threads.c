// More threads than processors, all alive at once, that meet at a barrier and take turns. Arguments: how many.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 512, ROUNDS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int order[ROUNDS * MAX_THREADS], length, turn, threads;

static void *worker(void *arg) {
  int me = (int)(long)arg;
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&lock);
    order[length++] = me;
    turn++;
    // Every fourth waits until all have been there.
    while (me % 4 == 0 && turn < (i + 1) * threads)
      pthread_cond_wait(&changed, &lock);
    if (turn == (i + 1) * threads)
      pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  static pthread_t ids[MAX_THREADS];
  unsigned long hash = 0;
  threads = argc > 1 ? atoi(argv[1]) : 100;
  if (threads < 1 || threads > MAX_THREADS)
    return 2;
  pthread_barrier_init(&barrier, NULL, threads);
  for (long i = 0; i < threads; ++i)
    pthread_create(&ids[i], NULL, worker, (void *)i);
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);
  for (int i = 0; i < length; ++i)
    hash = hash * 31 + (unsigned long)order[i];
  printf("%d turns, hash %016lx\n", length, hash);
  return 0;
}
