// Another thread stores between a store and a load: the value before is not the one that is read. What it stored is.
// RECORDED: 5
// COVERED: 9
// COVERED: 1
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t first, second;
static int input, cell, fixed, result;

static void *early(void *unused) {
  cell = 1;
  fixed = 1;
  sem_post(&first);
  sem_wait(&second);
  int got = cell;  // NOT CONST t1 load
  int set = fixed; // CONST t1 load 2; NOT CONST t1 load 1
  result = got * 10 + set;
  return unused;
}

static void *late(void *unused) {
  sem_wait(&first);
  int old = cell; // CONST t2 load 1
  cell = input + old;
  fixed = 2;
  sem_post(&second);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t threads[2];
  sem_init(&first, 0, 0);
  sem_init(&second, 0, 0);
  pthread_create(&threads[0], NULL, early, NULL);
  pthread_create(&threads[1], NULL, late, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  printf("%d\n", result);
  return 0;
}
