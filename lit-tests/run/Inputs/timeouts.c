// Timed calls and tries against a lock that main holds, or on another input does not. Their results belong to the
// schedule. Timeouts come at their deadline. Arguments: `held` or `free`, and the deadline in milliseconds.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static atomic_int others_are_done;
static long ms;

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct timespec deadline(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms % 1000 * 1000000;
  t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

// What a call gave, and whether its deadline has passed by now.
static void show(const char *what, int result, clockid_t clock, struct timespec at) {
  double left = (double)at.tv_sec + (double)at.tv_nsec / 1e9 - now(clock);
  printf("%s: %s, deadline %s\n", what, result == ETIMEDOUT ? "timed out" : "in time", left > 0 ? "ahead" : "passed");
}

static void *worker(void *arg) {
  printf("try: %s\n", pthread_mutex_trylock(&held) == EBUSY ? "busy" : "free");
  struct timespec at = deadline(CLOCK_REALTIME);
  show("mutex", pthread_mutex_timedlock(&held, &at), CLOCK_REALTIME, at);
  at = deadline(CLOCK_MONOTONIC);
  show("rwlock", pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &at), CLOCK_MONOTONIC, at);
  at = deadline(CLOCK_REALTIME);
  show("semaphore", sem_timedwait(&sem, &at) == 0 ? 0 : errno, CLOCK_REALTIME, at);
  at = deadline(CLOCK_MONOTONIC);
  pthread_mutex_lock(&lock);
  int result = 0;
  while (result == 0)
    result = pthread_cond_clockwait(&cond, &lock, CLOCK_MONOTONIC, &at);
  pthread_mutex_unlock(&lock);
  show("condition", result, CLOCK_MONOTONIC, at);
  others_are_done = 1;
  return arg;
}

int main(int argc, char *argv[]) {
  pthread_t thread;
  int hold = argc > 1 && strcmp(argv[1], "held") == 0;
  ms = argc > 2 ? atol(argv[2]) : 20;
  sem_init(&sem, 0, 0);
  pthread_mutex_lock(&held);
  pthread_rwlock_wrlock(&rwlock);
  pthread_create(&thread, NULL, worker, NULL);
  // Outside of synchronizations: the schedule does not know how long that takes.
  while (hold && !others_are_done)
    ;
  pthread_rwlock_unlock(&rwlock);
  pthread_mutex_unlock(&held);
  sem_post(&sem);
  pthread_join(thread, NULL);
  return 0;
}
