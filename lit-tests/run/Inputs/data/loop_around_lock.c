// A loop around a lock is straight code: each round's count is a constant. Between two rounds another thread has its own.
// RECORDED: 3 5
// COVERED: 3 9
// LEAVES: 2 5
// LEAVES: 4 5
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t turns[2];
static int rounds, input, counter, total;

static void *worker(void *arg) {
  long id = (long)arg;
  for (int i = 0; i < rounds; i++) {
    sem_wait(&turns[id]);
    pthread_mutex_lock(&lock);
    // CONST t1 load 0; CONST t1 load 2; CONST t1 load 4; CONST t2 load 1; CONST t2 load 3; CONST t2 load 5
    counter++;
    total += input; // NOT CONST t1 load 5; NOT CONST t2 load 5
    pthread_mutex_unlock(&lock);
    sem_post(&turns[1 - id]);
  }
  return NULL;
}

int main(int count, char **arguments) {
  rounds = count > 1 ? atoi(arguments[1]) : 3; // CONST t0 call 3
  input = count > 2 ? atoi(arguments[2]) : 5;
  pthread_t threads[2];
  sem_init(&turns[0], 0, 1);
  sem_init(&turns[1], 0, 0);
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  int all = counter; // CONST t0 load 6
  printf("%d %d\n", all, total);
  return 0;
}
