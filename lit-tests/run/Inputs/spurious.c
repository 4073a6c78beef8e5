// Counts how often a wait ends before there is something to see. A C library rarely does that, a schedule may say it.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int waiting, ready, woken;

static void *waiter(void *arg) {
  pthread_mutex_lock(&lock);
  waiting = 1;
  pthread_cond_signal(&changed);
  while (!ready) {
    pthread_cond_wait(&changed, &lock);
    woken++;
  }
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void) {
  pthread_t thread;
  pthread_mutex_lock(&lock);
  pthread_create(&thread, NULL, waiter, NULL);
  while (!waiting)
    pthread_cond_wait(&changed, &lock);
  ready = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  printf("woken %d\n", woken);
  return 0;
}
