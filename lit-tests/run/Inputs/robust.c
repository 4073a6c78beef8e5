// Robust mutexes: who dies with one leaves it to the next, who is told so (EOWNERDEAD) and makes it whole again. And
// mutexes that inherit priorities, which the kernel hands over itself.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 5 };

static pthread_mutex_t robust, inheriting;
static char told[THREADS + 1], order[4 * THREADS + 1];
static int length;

static void *dies_with_it(void *arg) {
  long me = (long)arg;
  int result = pthread_mutex_lock(&robust);
  told[me] = result == EOWNERDEAD ? 'd' : result == 0 ? 'o' : '?';
  if (result == EOWNERDEAD)
    pthread_mutex_consistent(&robust);
  for (int i = 0; i < 4; ++i) {
    pthread_mutex_lock(&inheriting);
    order[length++] = (char)('a' + me);
    pthread_mutex_unlock(&inheriting);
  }
  if (me % 2)
    pthread_mutex_unlock(&robust);
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&inheriting, &attr);
  pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE);
  pthread_mutex_init(&robust, &attr);
  for (long i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, dies_with_it, (void *)i);
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  printf("%s %s\n", told, order);
  return 0;
}
