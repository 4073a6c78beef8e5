// As many threads as the argument says.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *worker(void *arg) {
  for (int i = 0; i < 4; ++i) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(int argc, char *argv[]) {
  pthread_t ids[MAX_THREADS];
  int threads = argc > 1 ? atoi(argv[1]) : 0;
  if (threads < 1 || threads > MAX_THREADS)
    return 2;
  for (int i = 0; i < threads; ++i)
    pthread_create(&ids[i], NULL, worker, NULL); // DIVERGES threads
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL); // DIVERGES threads
  printf("count %d\n", count);
  return 0;
}
