// A task queue: counts the solutions of the SIZE queens problem. The first rows become tasks of their own,
// which threads put on and take from one stack under a lock with a condition variable; the rest is done in
// place.
#include "bench.h"

enum { SPLIT_ROWS = 5, MAX_TASKS = 1 << 16 };

struct task {
  int row;
  uint32_t columns, left, right;
};

static struct OWN_LINES {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct task *tasks;
  long waiting, unfinished, solutions;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

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
  pthread_mutex_lock(&queue.lock);
  if (queue.waiting == MAX_TASKS)
    abort();
  queue.tasks[queue.waiting++] = task;
  queue.unfinished++;
  pthread_cond_signal(&queue.changed);
  pthread_mutex_unlock(&queue.lock);
}

static void run(struct task task) {
  if (task.row == SPLIT_ROWS || task.row == size) {
    long found = solve(task.columns, task.left, task.right);
    pthread_mutex_lock(&queue.lock);
    queue.solutions += found;
    pthread_mutex_unlock(&queue.lock);
    return;
  }
  uint32_t all = (1u << size) - 1;
  for (uint32_t free = all & ~(task.columns | task.left | task.right); free; free &= free - 1) {
    uint32_t bit = free & -free;
    push((struct task){task.row + 1, task.columns | bit, (task.left | bit) << 1, (task.right | bit) >> 1});
  }
}

static void *worker(void *arg) {
  pthread_mutex_lock(&queue.lock);
  while (queue.unfinished > 0) {
    if (queue.waiting == 0) {
      pthread_cond_wait(&queue.changed, &queue.lock);
      continue;
    }
    struct task task = queue.tasks[--queue.waiting];
    pthread_mutex_unlock(&queue.lock);
    run(task);
    pthread_mutex_lock(&queue.lock);
    if (--queue.unfinished == 0) // [often]
      pthread_cond_broadcast(&queue.changed); // [rare]
  }
  pthread_mutex_unlock(&queue.lock);
  return arg;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 14);
  if (size > 16)
    return 2;
  queue.tasks = allocate(MAX_TASKS, sizeof *queue.tasks);
  push((struct task){0, 0, 0, 0});
  run_threads(worker);
  printf("task_queue %ld: %ld\n", size, queue.solutions);
  return 0;
}
