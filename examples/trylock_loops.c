// Trylock loops: a failed try is an event with its errno, and has no effect on anyone. Threads poll for a
// mutex, a semaphore and the end of a thread.
//
//   covsched cc -O2 -pthread trylock_loops.c -o trylock_loops
//   covsched record -o try.sched -- ./trylock_loops && covsched show try.sched
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t tokens, tried;
static int count;

// Yields first, then sleeps, so that a loop does not make thousands of events.
static void back_off(int tries) {
  if (tries < 3)
    sched_yield();
  else
    usleep(200);
}

static void *worker(void *arg) {
  for (int i = 0; i < ROUNDS; ++i) {
    for (int tries = 0; pthread_mutex_trylock(&lock) != 0; ++tries) // SCHED: pthread_mutex_trylock x12+
      back_off(tries);
    count++;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x12
  }
  for (int tries = 0; sem_trywait(&tokens) != 0; ++tries) // SCHED: sem_trywait x3+
    back_off(tries);
  return arg;
}

static void *try_once(void *result) {
  *(int *)result = pthread_mutex_trylock(&lock); // SCHED: pthread_mutex_trylock x1 = 16
  sem_post(&tried);                              // SCHED: sem_post x1
  pthread_mutex_lock(&lock);                     // SCHED: pthread_mutex_lock x1
  pthread_mutex_unlock(&lock);                   // SCHED: pthread_mutex_unlock x1
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS], trier;
  int busy = 0;
  sem_init(&tokens, 0, 0); // SCHED: sem_init x1
  sem_init(&tried, 0, 0);  // SCHED: sem_init x1

  pthread_mutex_lock(&lock);                            // SCHED: pthread_mutex_lock x1
  pthread_create(&trier, NULL, try_once, &busy);        // SCHED: pthread_create x1
  int alive = pthread_tryjoin_np(trier, NULL) == EBUSY; // SCHED: pthread_tryjoin_np x1 = 16
  int empty = sem_trywait(&tokens) != 0;                // SCHED: sem_trywait x1 = 11
  empty &= errno == EAGAIN;
  sem_wait(&tried);            // SCHED: sem_wait x1
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  for (int tries = 0; pthread_tryjoin_np(trier, NULL) == EBUSY; ++tries) // SCHED: pthread_tryjoin_np x1+
    back_off(tries);

  for (int i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, worker, NULL); // SCHED: pthread_create x3
  for (int i = 0; i < THREADS; ++i)
    sem_post(&tokens); // SCHED: sem_post x3
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x3
  sem_destroy(&tokens);             // SCHED: sem_destroy x1
  sem_destroy(&tried);              // SCHED: sem_destroy x1
  printf("count %d, alive %d, busy %d, empty %d\n", count, alive, busy == EBUSY, empty);
  return 0;
}
