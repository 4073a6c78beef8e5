// Every second element belongs to a thread, in another array every third, in a third one those with its bit: the strides
// keep the threads apart.
// RECORDED: 2 50
// COVERED: 2 33
// COVERED: 2 1
// LEAVES: 1 50
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4, CELLS = 600 };

static int number, size;
static int cells[CELLS], thirds[CELLS], bits[2 * CELLS];

static void *worker(void *arg) {
  int id = (int)(long)arg;
  for (int i = id; i < size; i += number) // CONST t1 load 2; CONST t2 load 2
    cells[i] = i * 3 + id; // DISJOINT self
  for (long i = (long)id + 1; i < size; i += 3)
    thirds[i] += (int)i; // DISJOINT self
  for (int i = 0; i < size; i++)
    bits[i << 1 | id] = i; // DISJOINT self
  return NULL;
}

int main(int count, char **arguments) {
  number = count > 1 ? atoi(arguments[1]) : 2;
  size = count > 2 ? atoi(arguments[2]) : 50;
  if (number < 1 || number > MOST || size < 0 || size > CELLS)
    return 2;
  pthread_t threads[MOST];
  for (long i = 0; i < number; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < number; i++)
    pthread_join(threads[i], NULL);
  long sum = 0;
  for (int i = 0; i < size; i++)
    sum += cells[i] * (i + 1L) + thirds[i] + bits[2 * i] + bits[2 * i + 1];
  printf("%ld\n", sum);
  return 0;
}
