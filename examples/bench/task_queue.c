// A task queue: counts the solutions of the SIZE queens problem. The first rows become tasks of their own,
// which threads put on and take from one stack under a lock with a condition variable; the rest is done in
// place.
#include "bench.h"

enum { SPLIT_ROWS = 5, MAX_TASKS = 1 << 16 };

struct task {
  int row;
  uint32_t columns, left, right;
};

static struct task *tasks;
static long waiting_tasks, unfinished, solutions;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static long solve(uint32_t columns, uint32_t left, uint32_t right) {
  uint32_t all = (1u << size) - 1;
  if (columns == all)
    return 1;
  long found = 0;
  for (uint32_t free = all & ~(columns | left | right); free; free &= free - 1) {
    uint32_t bit = free & -free;
    found += solve(columns | bit, (left | bit) << 1, (right | bit) >> 1);
  }
  return found;
}

static void push(struct task task) {
  pthread_mutex_lock(&lock);
  if (waiting_tasks == MAX_TASKS)
    abort();
  tasks[waiting_tasks++] = task;
  unfinished++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static void run(struct task task) {
  if (task.row == SPLIT_ROWS || task.row == size) {
    long found = solve(task.columns, task.left, task.right);
    pthread_mutex_lock(&lock);
    solutions += found;
    pthread_mutex_unlock(&lock);
    return;
  }
  uint32_t all = (1u << size) - 1;
  for (uint32_t free = all & ~(task.columns | task.left | task.right); free; free &= free - 1) {
    uint32_t bit = free & -free;
    push((struct task){task.row + 1, task.columns | bit, (task.left | bit) << 1, (task.right | bit) >> 1});
  }
}

static void *worker(void *arg) {
  pthread_mutex_lock(&lock);
  while (unfinished > 0) {
    if (waiting_tasks == 0) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    struct task task = tasks[--waiting_tasks];
    pthread_mutex_unlock(&lock);
    run(task);
    pthread_mutex_lock(&lock);
    if (--unfinished == 0) // [often]
      pthread_cond_broadcast(&changed); // [rare]
  }
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 14);
  if (size > 16)
    return 2;
  tasks = allocate(MAX_TASKS, sizeof *tasks);
  push((struct task){0, 0, 0, 0});
  run_threads(worker);
  printf("task_queue %ld: %ld\n", size, solutions);
  return 0;
}
