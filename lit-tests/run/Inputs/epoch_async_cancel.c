// A thread that is cancelled asynchronously, while it spins, may be at a marker then: others must not count on it.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile int ready, never;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void *spins(void *arg) {
  int before;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  ready = 1;
  while (!never) {
  }
  return arg;
}

static void *counts(void *arg) {
  for (int i = 0; i < 200; i++) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void) {
  for (int round = 0; round < 3; round++) {
    pthread_t spinner, counter;
    void *result;
    ready = 0;
    pthread_create(&spinner, 0, spins, 0);
    while (!ready) {
    }
    usleep(5000);
    pthread_cancel(spinner);
    pthread_join(spinner, &result);
    pthread_create(&counter, 0, counts, 0);
    counts(0);
    pthread_join(counter, 0);
    printf("%ld %d\n", count, result == PTHREAD_CANCELED);
  }
}
