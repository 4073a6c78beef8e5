// A waiter is woken and cancelled at once; its wake-up must not go to somebody who began to wait after the
// broadcast. On one processor, so that the cancelled thread comes last.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void unlock(void *mutex) { pthread_mutex_unlock(mutex); }

static void *waiter(void *arg) {
  pthread_mutex_lock(&lock);
  pthread_cleanup_push(unlock, &lock);
  for (;;)
    pthread_cond_wait(&changed, &lock);
  pthread_cleanup_pop(1);
  return arg;
}

int main(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  pthread_t thread;
  pthread_create(&thread, 0, waiter, 0);
  usleep(20000);
  pthread_mutex_lock(&lock);
  pthread_cond_broadcast(&changed);
  pthread_cancel(thread);
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_nsec += 200000000;
  deadline.tv_sec += deadline.tv_nsec / 1000000000;
  deadline.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&changed, &lock, &deadline);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, 0);
  return 0;
}
