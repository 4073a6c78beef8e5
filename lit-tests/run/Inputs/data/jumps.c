// setjmp and longjmp: a function comes back a second time, and variables have changed since the first.
// RECORDED: 5
// COVERED: 9
// COVERED: 2
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf place;
static int input, cell, rounds;

__attribute__((noinline)) static void leap(int value) {
  cell = value;
  longjmp(place, value + 1);
}

__attribute__((noinline)) static int try_it(void) {
  cell = 1;
  rounds = 0;
  int came_back = setjmp(place);
  rounds++;
  if (came_back < input)
    leap(came_back + 1);
  return came_back + cell * 10;
}

static void *worker(void *unused) {
  cell = 2;
  int result = try_it(); // NOT CONST t1 call
  int got = cell;        // NOT CONST t1 load
  int again = rounds;    // NOT CONST t1 load
  printf("%d %d %d\n", result, got, again);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
