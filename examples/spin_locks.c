// Spin locks: four threads count under one, and a trylock fails while main holds it.
//
//   covsched cc -O2 -pthread spin_locks.c -o spin_locks
//   covsched record -o spin.sched -- ./spin_locks && covsched show spin.sched
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 10 };

static pthread_spinlock_t spin;
static int count;

static void *worker(void *arg) {
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_spin_lock(&spin); // SCHED: pthread_spin_lock x40
    count++;
    pthread_spin_unlock(&spin); // SCHED: pthread_spin_unlock x40
  }
  return arg;
}

static void *try_once(void *result) {
  *(int *)result = pthread_spin_trylock(&spin); // SCHED: pthread_spin_trylock x1 = 16
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS], trier;
  int result = 0;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE); // SCHED: pthread_spin_init x1
  pthread_spin_lock(&spin);                          // SCHED: pthread_spin_lock x1
  pthread_create(&trier, NULL, try_once, &result);   // SCHED: pthread_create x1
  pthread_join(trier, NULL);                         // SCHED: pthread_join x1
  pthread_spin_unlock(&spin);                        // SCHED: pthread_spin_unlock x1
  int free_now = pthread_spin_trylock(&spin);        // SCHED: pthread_spin_trylock x1 = 0
  pthread_spin_unlock(&spin);                        // SCHED: pthread_spin_unlock x1
  for (int i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, worker, NULL); // SCHED: pthread_create x4
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x4
  pthread_spin_destroy(&spin); // SCHED: pthread_spin_destroy x1
  printf("count %d, busy %d, free %d\n", count, result == EBUSY, free_now == 0);
  return 0;
}
