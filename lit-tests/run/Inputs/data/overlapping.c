// Parts of an array that overlap by one element, and strides that meet: not to be called disjoint. Both threads write the
// same value there, so that the race does not show in the output.
// RACY
// RECORDED: 2 10
// COVERED: 2 100
// LEAVES: 3 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8, CELLS = 1200 };

static int number, size;
static int cells[CELLS], strided[CELLS], apart[CELLS];

static void *worker(void *arg) {
  int id = (int)(long)arg, first = size * id / number, last = size * (id + 1) / number;
  for (int i = first; i <= last; ++i)
    cells[i] = i * i; // NOT DISJOINT self
  for (int i = id * 3; i < size; i += number * 2 - 1)
    strided[i] = i; // NOT DISJOINT self
  for (int i = first; i < last; ++i)
    apart[i + 1] = i; // DISJOINT self
  return NULL;
}

int main(int count, char **arguments) {
  number = count > 1 ? atoi(arguments[1]) : 2;
  size = count > 2 ? atoi(arguments[2]) : 10;
  if (number < 1 || number > MOST || size < 0 || size > 1000)
    return 2;
  pthread_t threads[MOST];
  for (long i = 0; i < number; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < number; i++)
    pthread_join(threads[i], NULL);
  long sum = 0;
  for (int i = 0; i <= size; ++i)
    sum += cells[i] + strided[i] * 2L + apart[i] * 3L;
  printf("%ld\n", sum);
  return 0;
}
