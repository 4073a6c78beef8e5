// Objects that go through one place of a queue after each other: whoever takes one has that one. What one worker writes into
// its object is apart from what main writes at the same time into the next, though both came the same way.
// RECORDED: 3
// COVERED: 8
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
  int number, size;
  long result;
};

static struct job *place;
static struct job *finished[2];
static sem_t full, empty;

static void *worker(void *unused) {
  sem_wait(&full);
  struct job *job = place;
  sem_post(&empty);
  int number = job->number; // CONST t1 load 0; CONST t2 load 1
  job->result = job->size * 2L + number;
  finished[number] = job; // DISJOINT self
  return unused;
}

static void put(int number, int size) {
  struct job *job = malloc(sizeof *job);
  job->number = number;
  job->size = size;
  sem_wait(&empty);
  place = job;
  sem_post(&full);
}

int main(int count, char **arguments) {
  int size = count > 1 ? atoi(arguments[1]) : 1; // NOT CONST t0 call
  pthread_t one, two;
  sem_init(&full, 0, 0);
  sem_init(&empty, 0, 1);
  pthread_create(&one, NULL, worker, NULL);
  put(0, size);
  // The first has taken its job when the place is free again.
  sem_wait(&empty);
  sem_post(&empty);
  pthread_create(&two, NULL, worker, NULL);
  put(1, size + 1);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  printf("%ld %ld\n", finished[0]->result, finished[1]->result);
  free(finished[0]);
  free(finished[1]);
  return 0;
}
