// The clock variants of the timed waits, against CLOCK_MONOTONIC: each times out once and succeeds once.
//
//   covsched cc -O2 -pthread clock_variants.c -o clock_variants
//   covsched record -o clock.sched -- ./clock_variants && covsched show clock.sched
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static int is_ready;

static struct timespec after_ms(long ms) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_nsec += ms * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static void *waiter(void *arg) {
  int *late = arg;
  struct timespec at = after_ms(2);
  late[0] = pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &at) == ETIMEDOUT;      // SCHED: pthread_mutex_clocklock x1 = 110
  late[1] = pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &at) == ETIMEDOUT; // SCHED: pthread_rwlock_clockrdlock x1 = 110
  late[2] = pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &at) == ETIMEDOUT; // SCHED: pthread_rwlock_clockwrlock x1 = 110
  late[3] = sem_clockwait(&sem, CLOCK_MONOTONIC, &at) != 0 && errno == ETIMEDOUT;   // SCHED: sem_clockwait x1 = 110
  pthread_mutex_lock(&lock);                                                        // SCHED: pthread_mutex_lock x1
  int result = 0;
  while (result == 0)
    result = pthread_cond_clockwait(&cond, &lock, CLOCK_MONOTONIC, &at); // SCHED: pthread_cond_clockwait x1+
  late[4] = result == ETIMEDOUT;
  at = after_ms(60000);
  while (!is_ready)
    pthread_cond_clockwait(&cond, &lock, CLOCK_MONOTONIC, &at); // SCHED: pthread_cond_clockwait x0+
  pthread_mutex_unlock(&lock);                                  // SCHED: pthread_mutex_unlock x1
  return NULL;
}

int main(void) {
  pthread_t thread;
  int late[5] = {0};
  sem_init(&sem, 0, 0);                        // SCHED: sem_init x1
  pthread_mutex_lock(&held);                   // SCHED: pthread_mutex_lock x1
  pthread_rwlock_wrlock(&rwlock);              // SCHED: pthread_rwlock_wrlock x1
  pthread_create(&thread, NULL, waiter, late); // SCHED: pthread_create x1
  struct timespec at = after_ms(15);
  int early = pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &at) == ETIMEDOUT; // SCHED: pthread_clockjoin_np x1 = 110
  pthread_mutex_lock(&lock);                                                         // SCHED: pthread_mutex_lock x1
  is_ready = 1;
  pthread_cond_signal(&cond);  // SCHED: pthread_cond_signal x1
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  at = after_ms(60000);
  int joined = pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &at) == 0; // SCHED: pthread_clockjoin_np x1 = 0
  pthread_rwlock_unlock(&rwlock);                                             // SCHED: pthread_rwlock_unlock x1
  pthread_mutex_unlock(&held);                                                // SCHED: pthread_mutex_unlock x1
  printf("timed out: %d %d %d %d %d, join %d\n", late[0], late[1], late[2], late[3], late[4], early);

  int ok = pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &at) == 0;   // SCHED: pthread_mutex_clocklock x1 = 0
  pthread_mutex_unlock(&held);                                          // SCHED: pthread_mutex_unlock x1
  ok += pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &at) == 0; // SCHED: pthread_rwlock_clockrdlock x1 = 0
  pthread_rwlock_unlock(&rwlock);                                       // SCHED: pthread_rwlock_unlock x1
  ok += pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &at) == 0; // SCHED: pthread_rwlock_clockwrlock x1 = 0
  pthread_rwlock_unlock(&rwlock);                                       // SCHED: pthread_rwlock_unlock x1
  sem_post(&sem);                                                       // SCHED: sem_post x1
  ok += sem_clockwait(&sem, CLOCK_MONOTONIC, &at) == 0;                 // SCHED: sem_clockwait x1 = 0
  sem_destroy(&sem);                                                    // SCHED: sem_destroy x1
  printf("in time: %d, join %d\n", ok, joined);
  return 0;
}
