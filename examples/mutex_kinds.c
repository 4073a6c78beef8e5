// Recursive and error-checking mutexes: a second lock by the owner counts, or fails with EDEADLK (35); an
// unlock by somebody else fails with EPERM (1).
//
//   covsched cc -O2 -pthread mutex_kinds.c -o mutex_kinds
//   covsched record -o kinds.sched -- ./mutex_kinds && covsched show kinds.sched
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 2, DEPTH = 3 };

static pthread_mutex_t recursive, checking;
static int count;

static void nest(int depth) {
  if (depth == 0)
    return;
  pthread_mutex_lock(&recursive); // SCHED: pthread_mutex_lock x6
  count++;
  nest(depth - 1);
  pthread_mutex_unlock(&recursive); // SCHED: pthread_mutex_unlock x6
}

static void *worker(void *arg) {
  nest(DEPTH);
  return arg;
}

static void *not_the_owner(void *result) {
  *(int *)result = pthread_mutex_unlock(&checking); // SCHED: pthread_mutex_unlock x1 = 1
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS], other;
  pthread_mutexattr_t attr;
  int not_owner;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attr); // SCHED: pthread_mutex_init x1
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checking, &attr); // SCHED: pthread_mutex_init x1
  pthread_mutexattr_destroy(&attr);

  for (int i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, worker, NULL); // SCHED: pthread_create x2
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x2

  pthread_mutex_lock(&checking);                            // SCHED: pthread_mutex_lock x1 = 0
  int twice = pthread_mutex_lock(&checking);                // SCHED: pthread_mutex_lock x1 = 35
  int tried = pthread_mutex_trylock(&checking);             // SCHED: pthread_mutex_trylock x1 = 16
  pthread_create(&other, NULL, not_the_owner, &not_owner);  // SCHED: pthread_create x1
  pthread_join(other, NULL);                                // SCHED: pthread_join x1
  int mine = pthread_mutex_unlock(&checking);               // SCHED: pthread_mutex_unlock x1 = 0
  int not_locked = pthread_mutex_unlock(&checking);         // SCHED: pthread_mutex_unlock x1 = 1
  pthread_mutex_destroy(&recursive);                        // SCHED: pthread_mutex_destroy x1
  pthread_mutex_destroy(&checking);                         // SCHED: pthread_mutex_destroy x1
  printf("count %d, EDEADLK %d, EBUSY %d, EPERM %d %d, unlock %d\n", count, twice == EDEADLK, tried == EBUSY,
         not_owner == EPERM, not_locked == EPERM, mine);
  return 0;
}
