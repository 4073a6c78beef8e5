// Thread-local variables: each thread has its own, which begins with the initializer; another one's is reached by address.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local int own = 3, counted;
static sem_t ready, done;
static int input, *mains;

static void count_once(void) { counted++; }

static void *worker(void *arg) {
  int first = own; // NOT CONST t1 load 4; NOT CONST t2 load 4
  own = (int)(long)arg;
  sem_wait(&ready);
  *mains += input + own; // NOT CONST t1 load 5; NOT CONST t1 load 3
  sem_post(&done);
  count_once();
  printf("%d %d %d\n", first, own, counted);
  return NULL;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  sem_init(&ready, 0, 0);
  sem_init(&done, 0, 0);
  own = 4;
  mains = &own;
  count_once();
  count_once();
  for (long i = 10; i < 12; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, (void *)i);
    sem_post(&ready);
    sem_wait(&done);
    pthread_join(thread, NULL);
  }
  int got = own; // NOT CONST t0 load
  printf("%d %d\n", got, counted);
  return 0;
}
