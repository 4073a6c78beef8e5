// Whether a trylock succeeds is the schedule's: here one does not, one does. What was stored follows.
// RECORDED: 5
// COVERED: 9
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, tried;
static int input, cell = 1, failed, outcome;

static void *worker(void *unused) {
  sem_wait(&held);
  int busy = pthread_mutex_trylock(&lock); // NOT CONST t1 call 0
  if (busy == EBUSY)
    failed++;
  sem_post(&tried);
  pthread_mutex_lock(&lock);
  int got = cell; // NOT CONST t1 load
  pthread_mutex_unlock(&lock);
  int free_now = pthread_mutex_trylock(&lock); // NOT CONST t1 call 16
  if (free_now == 0) {
    cell = 8;
    pthread_mutex_unlock(&lock);
  }
  outcome = got * 10 + failed;
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  sem_init(&held, 0, 0);
  sem_init(&tried, 0, 0);
  pthread_mutex_lock(&lock);
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  sem_post(&held);
  sem_wait(&tried);
  cell = input;
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  int last = cell; // CONST t0 load 8
  printf("%d %d\n", last, outcome);
  return 0;
}
