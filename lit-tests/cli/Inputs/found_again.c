// Failures that a run under a schedule must find again: `busy`, a mutex is held when it is to be destroyed; `lost`, a
// mutex whose owner died is given up and cannot be had any more; `foreign`, threads of code without hooks (NO_HOOKS)
// that lock each its own. The numbers are the milliseconds that the first and the second thread sleep before.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void run_both(void (*function)(int));

#ifdef NO_HOOKS
static void (*called)(int);

static void *call(void *number) {
  called((int)(long)number);
  return NULL;
}

void run_both(void (*function)(int)) {
  pthread_t threads[2];
  called = function;
  for (long i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, call, (void *)i);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
}
#else
static pthread_mutex_t lock, locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int before[2], results[2];

static void *holder(void *number) {
  usleep(before[0] * 1000);
  pthread_mutex_lock(&lock);
  usleep(100000);
  pthread_mutex_unlock(&lock);
  return number;
}

static void *dies(void *unused) {
  pthread_mutex_lock(&lock);
  return unused;
}

// It does not make the mutex consistent, so nobody can have it any more once it is unlocked.
static void *loses(void *number) {
  long me = (long)number;
  usleep(before[me] * 1000);
  results[me] = pthread_mutex_lock(&lock);
  if (me == 0)
    pthread_mutex_unlock(&lock);
  return NULL;
}

static void owns(int me) {
  usleep(before[me] * 1000);
  pthread_mutex_lock(&locks[me]);
  pthread_mutex_unlock(&locks[me]);
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  pthread_t threads[2];
  before[0] = atoi(argv[2]);
  before[1] = atoi(argv[3]);
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&lock, strcmp(argv[1], "lost") == 0 ? &robust : NULL);
  if (strcmp(argv[1], "busy") == 0) {
    pthread_create(&threads[0], NULL, holder, NULL);
    usleep(before[1] * 1000);
    results[0] = pthread_mutex_destroy(&lock);
    pthread_join(threads[0], NULL);
  } else if (strcmp(argv[1], "lost") == 0) {
    pthread_create(&threads[0], NULL, dies, NULL);
    pthread_join(threads[0], NULL);
    for (long i = 0; i < 2; ++i)
      pthread_create(&threads[i], NULL, loses, (void *)i);
    for (int i = 0; i < 2; ++i)
      pthread_join(threads[i], NULL);
  } else {
    run_both(owns);
  }
  printf("%s %s\n", strerror(results[0]), strerror(results[1]));
  return 0;
}
#endif
