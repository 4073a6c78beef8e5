// Loops that may run zero times: what they store may not have been stored; a loop that must run is another thing.
// RECORDED: 3
// COVERED: 0
// COVERED: 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int input, cell = 5, other = 5, must = 5;

static void *worker(void *unused) {
  int reached = 0;
  for (int i = 0; i < input; i++) {
    cell = 8;
    reached = 1;
  }
  int got = cell; // NOT CONST t1 load
  if (reached)    // NOT TAKEN t1
    got += 100;
  int rounds = input;
  while (rounds > 0) {
    other = 8;
    rounds--;
  }
  got += other; // NOT CONST t1 load
  for (int i = 0; i < 2; i++) // TRIPS t1 2
    must = 8;
  got += must; // CONST t1 load 8
  printf("%d %d\n", got, input);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 3;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
