// Stores on one of two branches, in one of a switch's cases, before an early return, with a short-circuit: they may not have
// happened. If the condition is known, they have, or have not.
// RECORDED: 1
// COVERED: 2
// COVERED: 3
// COVERED: 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int input, mode = 2;
static int branch = 1, both = 1, cased = 1, returned = 1, shorted = 1, known = 1, never = 1;

static void leave_early(void) {
  if (input == 3)
    return;
  returned = 2;
}

static int is_small(void) { return input < 2; }

static void *worker(void *unused) {
  if (input > 1)
    branch = 2;
  int sum = branch; // NOT CONST t1 load
  if (input > 1)
    both = 3;
  else
    both = 3;
  sum = sum * 10 + both;
  switch (input) { // NOT TAKEN t1
  case 1:
    cased = 2;
    break;
  case 2:
    sum++;
    break;
  default:
    break;
  }
  sum = sum * 10 + cased; // NOT CONST t1 load
  leave_early();
  sum = sum * 10 + returned; // NOT CONST t1 load
  if (is_small() && (shorted = 2))
    sum++;
  sum = sum * 10 + shorted; // NOT CONST t1 load
  switch (mode) { // TAKEN t1 2
  case 1:
    never = 2;
    break;
  case 2:
    known = 2;
    break;
  }
  sum = sum * 10 + known; // CONST t1 load 2
  sum = sum * 10 + never; // CONST t1 load 1
  printf("%d\n", sum);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 1;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
