// Early returns between synchronizations, and a synchronization in a callee of a callee.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

__attribute__((noinline)) static void innermost(long value) {
  pthread_mutex_lock(&lock);
  total += value;
  pthread_mutex_unlock(&lock);
}
__attribute__((noinline)) static long between(long value) {
  if (value % 4 == 0)
    return value;
  innermost(value);
  if (value % 4 == 1)
    return value + 1;
  innermost(value * 2);
  return value + 2;
}
static void *worker(void *data) {
  long value = (long)data;
  for (int i = 0; i < 3; i++) {
    value = between(value);
    if (value > 50)
      return (void *)value;
  }
  innermost(1);
  return (void *)value;
}

int main(int count, char **arguments) {
  long value = count > 1 ? atoi(arguments[1]) : 3;
  pthread_t thread;
  void *result;
  pthread_create(&thread, 0, worker, (void *)value);
  pthread_join(thread, &result);
  printf("%ld %ld\n", (long)result, total);
  return 0;
}
