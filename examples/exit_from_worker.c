// A worker ends the process with exit(3) while main waits in a join. An exit handler runs in the worker and
// still synchronizes. The schedule is complete, and main's join is not in it: it never happened.
//
//   covsched cc -O2 -pthread exit_from_worker.c -o exit_from_worker
//   covsched record -o exit.sched -- ./exit_from_worker; covsched show exit.sched
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void at_exit(void) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  puts("exit handler");
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
}

static void *worker(void *arg) {
  puts("worker exits");
  exit(3); // SCHED: exit x1 = 3
  return arg;
}

int main(void) {
  pthread_t thread;
  atexit(at_exit);
  pthread_create(&thread, NULL, worker, NULL); // SCHED: pthread_create x1
  pthread_join(thread, NULL);                  // SCHED: pthread_join x0
  return 1;
}
