// A store at the end of a loop's body comes before the load at its begin, but for the first time; a store after a loop does
// not; one that only the last round does, does.
// RECORDED: 4
// COVERED: 7
// COVERED: 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int input, cell, once, last, fixed;

static void *worker(void *unused) {
  long sum = 0;
  cell = 1;
  once = 1;
  last = 1;
  fixed = 1;
  for (int i = 0; i < input; i++) {
    sum = sum * 3 + cell; // NOT CONST t1 load
    sum += fixed;         // CONST t1 load 1
    cell = i + 2;
    if (i == input - 1)
      last = i + 5;
  }
  sum += last; // NOT CONST t1 load
  for (int round = 0; round < 3; round++) { // TRIPS t1 3
    sum = sum * 5 + once; // CONST t1 load 1; CONST t1 load 2
    once = 2;
  }
  fixed = 9;
  printf("%ld %d\n", sum, fixed);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 4;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
