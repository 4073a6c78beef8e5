// A thread in a long system call, while all others wait for it: nothing is wrong with that.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int ready;

static void *waits(void *arg) {
  pthread_mutex_lock(&lock);
  while (!ready)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  pthread_barrier_wait(&barrier);
  return arg;
}

static void *sleeps(void *arg) {
  pthread_mutex_lock(&lock);
  usleep(700000);
  ready = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  usleep(700000);
  pthread_barrier_wait(&barrier);
  return arg;
}

int main(void) {
  pthread_t threads[3];
  pthread_barrier_init(&barrier, NULL, 3);
  for (int i = 0; i < 3; ++i)
    pthread_create(&threads[i], NULL, i == 1 ? sleeps : waits, NULL);
  for (int i = 0; i < 3; ++i)
    pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
