// Main ends with pthread_exit; the process lives on until its last thread ends, and exits with 0. The workers
// end with pthread_exit too, one of them from a function that it calls.
//
//   covsched cc -O2 -pthread main_pthread_exit.c -o main_pthread_exit
//   covsched record -o main_exit.sched -- ./main_pthread_exit && covsched show main_exit.sched
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_t main_thread;
static sem_t first_done;

__attribute__((noinline)) static void finish(void *value) {
  pthread_exit(value); // SCHED: pthread_exit x1
}

static void *first(void *arg) {
  pthread_join(main_thread, NULL); // SCHED: pthread_join x1
  puts("main is gone");
  sem_post(&first_done); // SCHED: sem_post x1
  finish(arg);
  return NULL;
}

static void *second(void *arg) {
  sem_wait(&first_done); // SCHED: sem_wait x1
  puts("last thread");
  pthread_exit(arg); // SCHED: pthread_exit x1
}

int main(void) {
  pthread_t threads[2];
  main_thread = pthread_self();
  sem_init(&first_done, 0, 0);                    // SCHED: sem_init x1
  pthread_create(&threads[0], NULL, first, NULL); // SCHED: pthread_create x1
  pthread_detach(threads[0]);                     // SCHED: pthread_detach x1
  pthread_create(&threads[1], NULL, second, NULL); // SCHED: pthread_create x1
  pthread_detach(threads[1]);                      // SCHED: pthread_detach x1
  pthread_exit(NULL);                              // SCHED: pthread_exit x1
}
