// Two threads count under a lock; an epoch marker, put in by hand, in each loop.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

void covsched_epoch_marker(uint64_t site);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *worker(void *unused) {
  for (int i = 0; i < 6; i++) {
    covsched_epoch_marker(0x11);
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, worker, 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  printf("count %d\n", count);
  return 0;
}
