// A local variable of which another thread has the address, through an argument or a variable: its stores count. One that
// never left is the thread's own.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t asked, answered;
static int input, *shown;

static void *worker(void *arg) {
  int *given = arg;
  sem_wait(&asked);
  *given += input; // NOT CONST t1 load 5
  *shown = input * 2;
  sem_post(&answered);
  return NULL;
}

static void own(int *where) { *where = 4; }

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  sem_init(&asked, 0, 0);
  sem_init(&answered, 0, 0);
  int given = 1, visible = 2, hidden = 3;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, &given);
  shown = &visible;
  own(&hidden);
  sem_post(&asked);
  sem_wait(&answered);
  int a = given;   // NOT CONST t0 load
  int b = visible; // NOT CONST t0 load
  int c = hidden;  // CONST t0 load 4
  pthread_join(thread, NULL);
  printf("%d %d %d\n", a, b, c);
  return 0;
}
