// Threads that get their number as the argument, as an integer and in a struct: the numbers are distinct constants.
// RECORDED: 2 10
// COVERED: 2 7
// LEAVES: 3 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4 };

struct task {
  int id, size;
  long *to;
};

static const int table[MOST] = {10, 20, 30, 40};
static long sums[MOST], more[MOST];

static void *numbered(void *arg) {
  long id = (long)arg;   // CONST t1 any 0; CONST t2 any 1
  if (id == 0)           // TAKEN t1 true; TAKEN t2 false
    sums[3] = table[id]; // CONST t1 load 10
  sums[id] = table[id];  // CONST t1 load 10; CONST t2 load 20; DISJOINT self
  return NULL;
}

static void *described(void *arg) {
  const struct task *task = arg;
  int id = task->id;     // CONST t3 load 0; CONST t4 load 1
  int size = task->size; // NOT CONST t3 load; NOT CONST t4 load
  long *to = task->to;   // CONST t3 load &more; CONST t4 load &more+8
  *to = table[id] + size; // CONST t3 load 10; CONST t4 load 20; DISJOINT self
  return NULL;
}

int main(int count, char **arguments) {
  int number = count > 1 ? atoi(arguments[1]) : 2; // CONST t0 call 2
  int size = count > 2 ? atoi(arguments[2]) : 10;
  if (number > MOST)
    return 2;
  pthread_t threads[MOST];
  struct task tasks[MOST];
  for (long i = 0; i < number; i++)
    pthread_create(&threads[i], NULL, numbered, (void *)i);
  for (int i = 0; i < number; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < number; i++) {
    tasks[i].id = i;
    tasks[i].size = size;
    tasks[i].to = &more[i];
    pthread_create(&threads[i], NULL, described, &tasks[i]);
  }
  for (int i = 0; i < number; i++)
    pthread_join(threads[i], NULL);
  printf("%ld %ld %ld %ld %ld\n", sums[0], sums[1], sums[3], more[0], more[1]);
  return 0;
}
