// A function with a variable number of arguments writes through them; a thread's result comes back through join.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int input, cell, other;

static void assign(int number, ...) {
  va_list rest;
  va_start(rest, number);
  for (int i = 0; i < number; i++) {
    int *where = va_arg(rest, int *);
    *where = va_arg(rest, int);
  }
  va_end(rest);
}

static void *returns(void *arg) { return (char *)arg + input; }
static void *exits(void *arg) {
  int *numbers = arg;
  numbers[1] = input;
  pthread_exit(&numbers[1]);
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  cell = 1;
  other = 1;
  assign(2, &cell, input, &other, 3);
  int got = cell;   // NOT CONST t0 load
  int three = other; // NOT CONST t0 load 1
  pthread_t threads[2];
  int numbers[2] = {1, 1};
  static char base[16];
  void *first = NULL, *second = NULL;
  pthread_create(&threads[0], NULL, returns, base);
  pthread_create(&threads[1], NULL, exits, numbers);
  pthread_join(threads[0], &first);
  pthread_join(threads[1], &second);
  long moved = (char *)first - base; // NOT CONST t0 load
  int last = *(int *)second; // NOT CONST t0 load null; NOT CONST t0 load 1
  printf("%d %d %ld %d\n", got, three, moved, last);
  return 0;
}
