// Assertions tell what a program relies on: bounds that come from the input are in order, so that the parts are disjoint.
// RECORDED: 3 8 8 20
// COVERED: 0 8 9 64
// COVERED: 8 8 8 8
// LEAVES: 3 9 8 20
// LEAVES: 3 8 8 65
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 64 };

static int first[2], last[2], cells[CELLS], key;

static void *worker(void *arg) {
  long id = (long)arg;
  for (int i = first[id]; i < last[id]; i++)
    cells[i] = i + 1; // DISJOINT self
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 5)
    return 2;
  int begin = atoi(arguments[1]), middle = atoi(arguments[2]);
  int next = atoi(arguments[3]), end = atoi(arguments[4]);
  assert(0 <= begin && middle <= next && end <= CELLS);
  assert(middle == 8);
  first[0] = begin;
  last[0] = middle;
  first[1] = next;
  last[1] = end;
  key = middle;
  pthread_t threads[2];
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  unsigned long sum = (unsigned long)key; // CONST t0 load 8
  for (int i = 0; i < CELLS; i++)
    sum = sum * 3 + (unsigned long)cells[i];
  printf("%lu\n", sum % 1000003);
  return 0;
}
