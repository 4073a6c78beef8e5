// Loops without one head, and jumps into the middle: nothing is known of how often they run.
// RECORDED: 5
// COVERED: 8
// COVERED: 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int input, cell = 1, fixed = 3;

static void *worker(void *unused) {
  int rounds = input, sum = 0;
  cell = 1;
  if (input % 2)
    goto middle;
again:
  sum = sum * 2 + cell; // NOT CONST t1 load
middle:
  sum += cell + 1; // NOT CONST t1 load
  cell = rounds;
  if (--rounds > 0)
    goto again;
  sum = sum * 10 + fixed; // CONST t1 load 3
  printf("%d\n", sum);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
