// Wu, Figure 4.5b: two calls of one function lead to the same synchronization; which one is taken is input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

__attribute__((noinline)) static void add(long value) {
  pthread_mutex_lock(&lock);
  total += value;
  pthread_mutex_unlock(&lock);
}

static void *worker(void *data) {
  int input = *(int *)data;
  if (input % 2 == 0)
    add(input);
  else
    add(-input);
  return 0;
}

int main(int count, char **arguments) {
  int input = count > 1 ? atoi(arguments[1]) : 2;
  pthread_t thread;
  pthread_create(&thread, 0, worker, &input);
  pthread_join(thread, 0);
  printf("total %ld\n", total);
  return 0;
}
