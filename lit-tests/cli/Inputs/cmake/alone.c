// One file that signals a condition variable, for the ways to link.
#include <pthread.h>

int increment(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int count;

static void *worker(void *unused) {
  pthread_mutex_lock(&lock);
  count = increment();
  pthread_cond_signal(&done);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, worker, 0);
  pthread_mutex_lock(&lock);
  while (!count)
    pthread_cond_wait(&done, &lock);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, 0);
  return 0;
}
