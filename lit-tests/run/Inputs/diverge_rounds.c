// A queue with condition variables, a barrier, and semaphores that pass a turn, for as many rounds as the argument
// says. With other rounds than recorded, threads leave the schedule while others wait in all of these: none may
// be left behind, and no wake-up lost.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAIRS = 2, PLACES = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t turns[2 * PAIRS];
static int used, rounds;
static long put_sum, taken_sum, passed;

static void put(int item) {
  pthread_mutex_lock(&lock); // DIVERGES rounds
  while (used == PLACES)
    pthread_cond_wait(&not_full, &lock); // DIVERGES rounds
  used++;
  put_sum += item;
  pthread_cond_signal(&not_empty); // DIVERGES rounds
  pthread_mutex_unlock(&lock);     // DIVERGES rounds
}

static void take(int item) {
  pthread_mutex_lock(&lock); // DIVERGES rounds
  while (used == 0)
    pthread_cond_wait(&not_empty, &lock); // DIVERGES rounds
  used--;
  taken_sum += item;
  pthread_cond_signal(&not_full); // DIVERGES rounds
  pthread_mutex_unlock(&lock);    // DIVERGES rounds
}

static void *worker(void *arg) {
  long me = (long)arg;
  for (int i = 0; i < rounds; ++i) {
    if (me % 2)
      take(i);
    else
      put(i);
    pthread_barrier_wait(&barrier); // DIVERGES rounds
    sem_wait(&turns[me]);           // DIVERGES rounds
    passed++;
    sem_post(&turns[(me + 1) % (2 * PAIRS)]); // DIVERGES rounds
  }
  return NULL; // DIVERGES rounds
}

int main(int argc, char *argv[]) {
  pthread_t threads[2 * PAIRS];
  rounds = argc > 1 ? atoi(argv[1]) : 4;
  pthread_barrier_init(&barrier, NULL, 2 * PAIRS);
  for (int i = 0; i < 2 * PAIRS; ++i)
    sem_init(&turns[i], 0, i == 0);
  for (long i = 0; i < 2 * PAIRS; ++i)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < 2 * PAIRS; ++i)
    pthread_join(threads[i], NULL);
  printf("put %ld, taken %ld, passed %ld\n", put_sum, taken_sum, passed);
  return 0;
}
