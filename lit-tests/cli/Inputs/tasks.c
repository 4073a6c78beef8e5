// Workers take tasks under a lock; main waits on a condition variable until they are done.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int tasks = 6, done;
static atomic_int finished;

static int get(void) {
  pthread_mutex_lock(&lock);
  int task = tasks > 0 ? tasks-- : 0;
  pthread_mutex_unlock(&lock);
  return task;
}

static void *worker(void *unused) {
  while (get())
    done++;
  pthread_mutex_lock(&lock);
  finished++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, worker, 0);
  pthread_mutex_lock(&lock);
  while (finished < 2)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  return 0;
}
