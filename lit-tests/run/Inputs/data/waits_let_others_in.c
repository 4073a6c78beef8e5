// While a thread waits for a condition it does not hold the lock: others change what it has read. A wait may also end for
// nothing, and be repeated; the recorded one is woken twice.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t waiting;
static int input, state, cell, kept, wakings, results;

static void *waiter(void *unused) {
  pthread_mutex_lock(&lock);
  cell = 1;
  kept = 6;
  sem_post(&waiting);
  while (state < 2) {
    pthread_cond_wait(&changed, &lock);
    wakings++;
    sem_post(&waiting);
  }
  int got = cell;  // NOT CONST t1 load
  int same = kept; // CONST t1 load 6
  pthread_mutex_unlock(&lock);
  results = got * 10 + same;
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  sem_init(&waiting, 0, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, waiter, NULL);
  for (int i = 0; i < 2; i++) {
    sem_wait(&waiting);
    pthread_mutex_lock(&lock);
    cell += input; // CONST t0 load 1; NOT CONST t0 load 5
    state++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
  }
  pthread_join(thread, NULL);
  int times = wakings;
  printf("%d %d\n", results, times);
  return 0;
}
