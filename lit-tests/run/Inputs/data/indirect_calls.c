// Calls through pointers: what every target leaves alone stays, what one may write does not; a target that another thread
// has put there.
// RECORDED: 0
// COVERED: 1
// COVERED: 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int input, cell, kept, other, third, calls;

static void raise_it(int *where) { *where += 1; }
static void double_it(int *where) { *where *= 2; }
static void count_it(int *where) {
  calls++;
  third = *where * 2;
}

typedef void (*action)(int *);
static const action actions[3] = {raise_it, double_it, count_it};
static action chosen = raise_it;

static void *worker(void *unused) {
  cell = 5;
  kept = 5;
  other = 5;
  third = 5;
  actions[input](&other);
  int got = kept;        // CONST t1 load 5
  int changed = other;   // NOT CONST t1 load
  int sideways = third;  // NOT CONST t1 load
  chosen(&cell);
  got = got * 10 + cell; // NOT CONST t1 load 5; NOT CONST t1 load 6
  printf("%d %d %d\n", got, changed, sideways);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 0;
  if (input < 0 || input > 2)
    return 2;
  chosen = actions[2 - input];
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%d\n", calls);
  return 0;
}
