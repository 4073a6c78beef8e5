// Objects on the heap and on the stack that each thread has for itself, made by itself or for it: no two threads meet there.
// RECORDED: 2 10
// COVERED: 2 40
// LEAVES: 3 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4, WIDTH = 8 };

static long *parts[MOST], *kept[MOST];
static long size, totals[MOST], common[WIDTH];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fill(long *to, long number, long seed) {
  for (long i = 0; i < number; i++)
    to[i] = seed + i; // DISJOINT self
}

static void *worker(void *arg) {
  long id = (long)arg, stack[WIDTH];
  long *heap = malloc((size_t)size * sizeof *heap), *part = parts[id];
  for (long i = 0; i < size; i++)
    heap[i] = i * id; // DISJOINT self; DISJOINT part
  for (long i = 0; i < size; i++)
    part[i] = heap[i] + 1; // LABEL part; DISJOINT self
  for (int i = 0; i < WIDTH; i++)
    stack[i] = i + id; // DISJOINT self
  fill(stack, WIDTH / 2, part[size - 1]);
  pthread_mutex_lock(&lock);
  common[id % 2] += stack[WIDTH - 1];
  pthread_mutex_unlock(&lock);
  totals[id] = stack[0] + heap[size / 2];
  kept[id] = heap;
  return NULL;
}

int main(int count, char **arguments) {
  int number = count > 1 ? atoi(arguments[1]) : 2;
  size = count > 2 ? atoi(arguments[2]) : 10;
  if (number < 1 || number > MOST || size < 1)
    return 2;
  pthread_t threads[MOST];
  for (int i = 0; i < number; i++) // TRIPS t0 2
    parts[i] = malloc((size_t)size * sizeof(long));
  for (long i = 0; i < number; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < number; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < number; i++) {
    printf("%ld %ld %ld\n", totals[i], kept[i][size - 1], common[i]);
    free(parts[i]);
    free(kept[i]);
  }
  return 0;
}
