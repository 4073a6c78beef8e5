// Calls of which the program's text does not say what they come to: a library that calls back, with a function that
// synchronizes itself and with one that calls such a one; a pointer to one of two functions; a function that one of these
// calls by name as well.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total, compared;

__attribute__((noinline)) static void add(long value) {
  pthread_mutex_lock(&lock);
  total += value;
  pthread_mutex_unlock(&lock);
}

static int by_value(const void *left, const void *right) {
  add(1);
  compared++;
  return *(const int *)left - *(const int *)right;
}

__attribute__((noinline)) static void twice(long value) { add(value * 2); }
__attribute__((noinline)) static void thrice(long value) {
  add(value);
  add(value * 2);
}

static void (*choice[2])(long) = {twice, thrice};

int main(int count, char **arguments) {
  int which = count > 1 ? atoi(arguments[1]) : 0, first = count > 2 ? atoi(arguments[2]) : 1;
  int values[2] = {first, 5};
  add(7);
  qsort(values, 2, sizeof *values, by_value);
  choice[which & 1](values[0]);
  choice[1](values[1]);
  add(9);
  printf("%ld %ld %d %d\n", total, compared, values[0], values[1]);
  return 0;
}
