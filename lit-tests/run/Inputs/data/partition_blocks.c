// Each of two threads has a block of an array, the last one what is left over. The two write without meeting; both read the
// cell at the border of an array that nobody writes, and both write a cell under a lock.
// RECORDED: 2 100
// COVERED: 2 37
// COVERED: 2 0
// LEAVES: 4 100
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8, CELLS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int number, size, border;
static int cells[CELLS], given[CELLS];

static void *worker(void *arg) {
  int id = (int)(long)arg, block = size / number; // CONST t1 load 2; CONST t2 load 2
  int first = id * block, last = id == number - 1 ? size : first + block;
  for (int i = first; i < last; i++)
    cells[i] = given[i] * 2 + id; // DISJOINT self
  pthread_mutex_lock(&lock);
  border += given[block]; // NOT CONST t1 load 1; NOT CONST t2 load 1
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int count, char **arguments) {
  number = count > 1 ? atoi(arguments[1]) : 2;
  size = count > 2 ? atoi(arguments[2]) : 100;
  if (number < 1 || number > MOST || size < 0 || size > CELLS)
    return 2;
  for (int i = 0; i < CELLS; i++)
    given[i] = i % 7 * size;
  pthread_t threads[MOST];
  for (long i = 0; i < number; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < number; i++)
    pthread_join(threads[i], NULL);
  long sum = border;
  for (int i = 0; i < size; i++)
    sum += cells[i] * (i + 1L);
  printf("%ld\n", sum);
  return 0;
}
