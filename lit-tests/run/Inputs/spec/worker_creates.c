// A worker that creates threads, as many as the input says.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static int children, weight;

static void *leaf(void *data) {
  pthread_mutex_lock(&lock);
  total += (long)data * weight;
  pthread_mutex_unlock(&lock);
  return 0;
}
static void *worker(void *data) {
  pthread_t threads[4];
  for (long i = 0; i < children; i++)
    pthread_create(&threads[i], 0, leaf, (void *)(i + (long)data));
  for (int i = 0; i < children; i++)
    pthread_join(threads[i], 0);
  return leaf(data);
}

int main(int count, char **arguments) {
  children = count > 1 ? atoi(arguments[1]) : 2;
  weight = count > 2 ? atoi(arguments[2]) : 3;
  pthread_t threads[2];
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, worker, (void *)(10 * i));
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  printf("total %ld\n", total);
  return 0;
}
