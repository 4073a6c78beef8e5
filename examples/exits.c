// The other ways out: _exit, _Exit and quick_exit, each from main while a worker still waits. The argument
// says which. `_exit` is the default.
//
//   covsched cc -O2 -pthread exits.c -o exits
//   covsched record -o exits.sched -- ./exits quick_exit; covsched show exits.sched
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sem_t started, never;

static void *worker(void *arg) {
  sem_post(&started); // SCHED: sem_post x1
  sem_wait(&never);   // SCHED: sem_wait x0
  return arg;
}

static void at_quick_exit_handler(void) {
  (void)!write(1, "quick exit handler\n", 19);
}

int main(int argc, char *argv[]) {
  pthread_t thread;
  const char *how = argc > 1 ? argv[1] : "_exit";
  at_quick_exit(at_quick_exit_handler);
  sem_init(&started, 0, 0);                    // SCHED: sem_init x1
  sem_init(&never, 0, 0);                      // SCHED: sem_init x1
  pthread_create(&thread, NULL, worker, NULL); // SCHED: pthread_create x1
  sem_wait(&started);                          // SCHED: sem_wait x1
  printf("%s\n", how);
  fflush(stdout);
  if (strcmp(how, "quick_exit") == 0)
    quick_exit(5); // QUICK_EXIT: quick_exit x1 = 5
  if (strcmp(how, "_Exit") == 0)
    _Exit(6); // BIG_EXIT: _Exit x1 = 6
  _exit(7);   // UNDERSCORE_EXIT: _exit x1 = 7
}
