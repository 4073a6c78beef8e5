// A thread reads what its creator stored before, and the creator what the thread stored, once it has joined it.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int before, after, input;

static void *worker(void *unused) {
  int got = before; // CONST t1 load 7
  after = got + 1;
  input *= 3; // NOT CONST t1 load
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  before = 7;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  int sum = before;      // CONST t0 load 7
  sum += after;          // CONST t0 load 8
  int last = input;      // NOT CONST t0 load
  printf("%d %d\n", sum, last);
  return 0;
}
