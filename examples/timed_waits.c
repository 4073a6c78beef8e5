// Timed waits, each once with a near deadline that passes and once in time. A timeout is an event with the
// result ETIMEDOUT (110).
//
//   covsched cc -O2 -pthread timed_waits.c -o timed_waits
//   covsched record -o timed.sched -- ./timed_waits && covsched show timed.sched
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t empty, finish;
static int is_ready;

static struct timespec after_ms(long ms) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += ms * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

// Main holds `held` and the rwlock for writing all the while.
static void *times_out(void *arg) {
  int *late = arg;
  struct timespec soon = after_ms(2);
  late[0] = pthread_mutex_timedlock(&held, &soon) == ETIMEDOUT;        // SCHED: pthread_mutex_timedlock x1 = 110
  late[1] = pthread_rwlock_timedrdlock(&rwlock, &soon) == ETIMEDOUT;   // SCHED: pthread_rwlock_timedrdlock x1 = 110
  late[2] = pthread_rwlock_timedwrlock(&rwlock, &soon) == ETIMEDOUT;   // SCHED: pthread_rwlock_timedwrlock x1 = 110
  late[3] = sem_timedwait(&empty, &soon) == -1 && errno == ETIMEDOUT;  // SCHED: sem_timedwait x1 = 110
  pthread_mutex_lock(&lock);                                           // SCHED: pthread_mutex_lock x1
  int result = 0;
  while (result == 0)
    result = pthread_cond_timedwait(&never, &lock, &soon); // SCHED: pthread_cond_timedwait x1+
  late[4] = result == ETIMEDOUT;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  sem_wait(&finish);           // SCHED: sem_wait x1
  return NULL;
}

static void *in_time(void *arg) {
  struct timespec later = after_ms(60000);
  int *ok = arg;
  ok[0] = pthread_mutex_timedlock(&held, &later) == 0;      // SCHED: pthread_mutex_timedlock x1 = 0
  pthread_mutex_unlock(&held);                              // SCHED: pthread_mutex_unlock x1
  ok[1] = pthread_rwlock_timedrdlock(&rwlock, &later) == 0; // SCHED: pthread_rwlock_timedrdlock x1 = 0
  pthread_rwlock_unlock(&rwlock);                           // SCHED: pthread_rwlock_unlock x1
  ok[2] = pthread_rwlock_timedwrlock(&rwlock, &later) == 0; // SCHED: pthread_rwlock_timedwrlock x1 = 0
  pthread_rwlock_unlock(&rwlock);                           // SCHED: pthread_rwlock_unlock x1
  ok[3] = sem_timedwait(&finish, &later) == 0;              // SCHED: sem_timedwait x1 = 0
  pthread_mutex_lock(&lock);                                // SCHED: pthread_mutex_lock x1
  ok[4] = 1;
  while (!is_ready)
    ok[4] &= pthread_cond_timedwait(&ready, &lock, &later) == 0; // SCHED: pthread_cond_timedwait x0+
  pthread_mutex_unlock(&lock);                                   // SCHED: pthread_mutex_unlock x1
  return NULL;
}

int main(void) {
  pthread_t thread;
  int late[5] = {0}, ok[5] = {0};
  sem_init(&empty, 0, 0);  // SCHED: sem_init x1
  sem_init(&finish, 0, 0); // SCHED: sem_init x1

  pthread_mutex_lock(&held);                      // SCHED: pthread_mutex_lock x1
  pthread_rwlock_wrlock(&rwlock);                 // SCHED: pthread_rwlock_wrlock x1
  pthread_create(&thread, NULL, times_out, late); // SCHED: pthread_create x1
  struct timespec soon = after_ms(15), later = after_ms(60000);
  int early = pthread_timedjoin_np(thread, NULL, &soon) == ETIMEDOUT; // SCHED: pthread_timedjoin_np x1 = 110
  sem_post(&finish);                                                  // SCHED: sem_post x1
  int joined = pthread_timedjoin_np(thread, NULL, &later) == 0;       // SCHED: pthread_timedjoin_np x1 = 0
  pthread_rwlock_unlock(&rwlock);                                     // SCHED: pthread_rwlock_unlock x1
  pthread_mutex_unlock(&held);                                        // SCHED: pthread_mutex_unlock x1
  printf("timed out: %d %d %d %d %d, join %d\n", late[0], late[1], late[2], late[3], late[4], early);

  pthread_create(&thread, NULL, in_time, ok); // SCHED: pthread_create x1
  sem_post(&finish);                          // SCHED: sem_post x1
  pthread_mutex_lock(&lock);                  // SCHED: pthread_mutex_lock x1
  is_ready = 1;
  pthread_cond_broadcast(&ready); // SCHED: pthread_cond_broadcast x1
  pthread_mutex_unlock(&lock);    // SCHED: pthread_mutex_unlock x1
  pthread_join(thread, NULL);     // SCHED: pthread_join x1
  sem_destroy(&empty);            // SCHED: sem_destroy x1
  sem_destroy(&finish);           // SCHED: sem_destroy x1
  printf("in time: %d %d %d %d %d, join %d\n", ok[0], ok[1], ok[2], ok[3], ok[4], joined);
  return 0;
}
