// Detached threads, one by attribute, one by its maker, one by itself. Nobody joins them; a semaphore says
// that their work is done. They may still be on their way out when main returns.
//
//   covsched cc -O2 -pthread detached.c -o detached
//   covsched record -o detached.sched -- ./detached && covsched show detached.sched
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t done;
static int results[3];

static void *worker(void *arg) {
  int *result = arg;
  *result = (int)(result - results) + 1;
  sem_post(&done); // SCHED: sem_post x2
  return NULL;
}

static void *detaches_itself(void *arg) {
  pthread_detach(pthread_self()); // SCHED: pthread_detach x1
  *(int *)arg = 3;
  sem_post(&done); // SCHED: sem_post x1
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_attr_t attr;
  sem_init(&done, 0, 0); // SCHED: sem_init x1
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_create(&thread, &attr, worker, &results[0]);         // SCHED: pthread_create x1
  pthread_create(&thread, NULL, worker, &results[1]);          // SCHED: pthread_create x1
  pthread_detach(thread);                                      // SCHED: pthread_detach x1
  pthread_create(&thread, NULL, detaches_itself, &results[2]); // SCHED: pthread_create x1
  pthread_attr_destroy(&attr);
  for (int i = 0; i < 3; ++i)
    sem_wait(&done); // SCHED: sem_wait x3
  printf("%d %d %d\n", results[0], results[1], results[2]);
  return 0;
}
