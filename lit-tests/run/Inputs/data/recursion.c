// Recursive functions have many frames: a variable of one is not that of another, and what the inner call stores is not
// what the outer one has.
// RECORDED: 4
// COVERED: 6
// COVERED: 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int input, depth, deepest;

static void note(int *where, int value) { *where = value; }

static long descend(int levels) {
  int local;
  note(&local, levels);
  depth++;
  if (depth > deepest)
    deepest = depth;
  long below = levels > 0 ? descend(levels - 1) : 0;
  long mine = local; // NOT CONST t1 load
  depth--;
  return below * 3 + mine + deepest; // NOT CONST t1 load
}

// It synchronizes: each level is a frame of the schedule.
static int count_down(int *above, int levels) {
  int local = levels * 10;
  pthread_mutex_lock(&lock);
  *above += local;
  pthread_mutex_unlock(&lock);
  if (levels > 0)
    levels = count_down(&local, levels - 1);
  return local + levels; // CONST t1 load 10; CONST t1 load 30
}

static void *worker(void *unused) {
  long sum = descend(input);
  int top = 1;
  int counted = count_down(&top, 2);
  int end = top; // CONST t1 load 21
  printf("%ld %d %d %d\n", sum, counted, end, depth);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 4;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
