// A detached thread is never joined: what it stores after its last hand-over may come at any time.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t handed;
static int input, before = 1, value;
static _Atomic int after = 1;

static void *worker(void *unused) {
  before = 2;
  value = input;
  sem_post(&handed);
  after = 2;
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  sem_init(&handed, 0, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_detach(thread);
  sem_wait(&handed);
  int a = before; // CONST t0 load 2
  int b = value;  // NOT CONST t0 load
  int c = after;  // NOT CONST t0 load
  printf("%d %d %d\n", a, b, c == 1 || c == 2);
  return 0;
}
