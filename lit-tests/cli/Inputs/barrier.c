#include <pthread.h>

static pthread_barrier_t barrier;
static int value;

static void *worker(void *unused) {
  value = 1;
  pthread_barrier_wait(&barrier);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_barrier_init(&barrier, 0, 2);
  pthread_create(&thread, 0, worker, 0);
  pthread_barrier_wait(&barrier);
  value = 2;
  pthread_join(thread, 0);
  return 0;
}
