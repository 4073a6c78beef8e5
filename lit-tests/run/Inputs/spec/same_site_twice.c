// The same call site reached twice, by a loop and by two calls; values live across all of it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long shared;

__attribute__((noinline)) static long visit(long times, long scale) {
  long kept = scale * 3, sum = 0;
  for (long i = 0; i < times; i++) {
    pthread_mutex_lock(&lock);
    shared += scale + i;
    sum += shared;
    pthread_mutex_unlock(&lock);
    kept ^= sum << i;
  }
  return kept + sum;
}

int main(int count, char **arguments) {
  long times = count > 1 ? atoi(arguments[1]) : 2, scale = count > 2 ? atoi(arguments[2]) : 5;
  long first = visit(times, scale);
  long second = visit(1, first & 7);
  long third = visit(times, scale + second % 3);
  printf("%ld %ld %ld %ld\n", first, second, third, shared);
  return 0;
}
