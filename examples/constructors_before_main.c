// Synchronization before main and after it: a constructor makes a thread and joins it, a destructor locks.
// Events of main's thread before main's entry come from constructors.
//
//   covsched cc -O2 -pthread constructors_before_main.c -o constructors
//   covsched record -o constructors.sched -- ./constructors && covsched show constructors.sched
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *early_worker(void *arg) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  value += 40;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  return arg;
}

__attribute__((constructor)) static void before_main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, early_worker, NULL); // SCHED: pthread_create x1
  pthread_mutex_lock(&lock);                         // SCHED: pthread_mutex_lock x1
  value += 1;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  pthread_join(thread, NULL);  // SCHED: pthread_join x1
}

__attribute__((destructor)) static void after_main(void) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  printf("after main: %d\n", value);
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
}

int main(void) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  value += 1;
  printf("main: %d\n", value);
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  return 0;
}
