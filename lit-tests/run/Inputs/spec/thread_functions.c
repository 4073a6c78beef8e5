// Two thread functions behind one pointer, and an indirect call that synchronizes: which is which is input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sums[2];

static void add(long *sum, long value) {
  pthread_mutex_lock(&lock);
  *sum += value;
  pthread_mutex_unlock(&lock);
}
static void twice(long *sum, long value) {
  add(sum, value);
  add(sum, value);
}
static void none(long *sum, long value) { *sum ^= value & 0; }

typedef void (*action)(long *, long);
static const action actions[3] = {add, twice, none};
static int choice;

static void *first(void *data) {
  actions[choice % 3](&sums[0], (long)data);
  return 0;
}
static void *second(void *data) {
  pthread_mutex_lock(&lock);
  sums[1] += 10 * (long)data;
  pthread_mutex_unlock(&lock);
  return data;
}

int main(int count, char **arguments) {
  int order = count > 1 ? atoi(arguments[1]) : 0;
  choice = count > 2 ? atoi(arguments[2]) : 1;
  long value = count > 3 ? atoi(arguments[3]) : 4;
  void *(*const starts[2])(void *) = {first, second};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, starts[(i + order) % 2], (void *)(value + i));
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  printf("%ld %ld\n", sums[0], sums[1]);
  return 0;
}
