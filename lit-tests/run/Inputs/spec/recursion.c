// Recursion that synchronizes, directly and through another function, before and after the inner call.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static long odd(long depth, long value);

__attribute__((noinline)) static long even(long depth, long value) {
  pthread_mutex_lock(&lock);
  total += value;
  pthread_mutex_unlock(&lock);
  long inner = depth > 0 ? odd(depth - 1, value + 1) : 1;
  if (inner % 3 == 1) {
    pthread_mutex_lock(&lock);
    total -= depth;
    pthread_mutex_unlock(&lock);
  }
  return inner + 2 * depth;
}

__attribute__((noinline)) static long odd(long depth, long value) {
  if (depth <= 0)
    return value & 3;
  if (value > 100)
    return odd(depth - 1, value / 2);
  return even(depth - 1, value * 2);
}

int main(int count, char **arguments) {
  long depth = count > 1 ? atoi(arguments[1]) : 4, value = count > 2 ? atoi(arguments[2]) : 1;
  long result = even(depth, value);
  printf("%ld %ld\n", result, total);
  return 0;
}
