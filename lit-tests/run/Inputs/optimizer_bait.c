// What optimizers like to change: each line's synchronizations must happen as often as the comment says, at
// every level, with their own site.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count;

// Two branches with equal code: may become one.
__attribute__((noinline)) static void equal_branches(int which) {
  if (which & 1) {
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x6
    count++;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x6
  } else {
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x6
    count++;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x6
  }
}

// Cases with equal code: may become one block, or a table.
__attribute__((noinline)) static void equal_cases(int which) {
  switch (which) {
  case 0:
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x2
    break;
  case 1:
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x2
    break;
  case 2:
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x2
    break;
  default:
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x6
  }
  count++;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x12
}

// Inlined at two places, into a loop and out of one.
static inline void inlined(void) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x14
  count++;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x14
}

// A known trip count: unrolled fully, so that one call becomes four.
__attribute__((noinline)) static void unrolled(void) {
  for (int i = 0; i < 4; ++i) {
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x8
    count++;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x8
  }
}

// The second test repeats the first: jump threading duplicates what stands between.
__attribute__((noinline)) static void threaded_jumps(int which) {
  int odd = which & 1;
  if (odd)
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x6
  long before = *(volatile long *)&count;
  if (odd) {
    count = before + 1;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x6
  }
}

// Two functions that are equal but for their sites: may be folded into one.
__attribute__((noinline)) static void twin_one(void) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x2
  count++;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x2
}

__attribute__((noinline)) static void twin_two(void) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x2
  count++;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x2
}

// Dead code: may go, and takes nothing along.
static void never(void) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x0
}

static void *worker(void *arg) {
  for (int i = 0; i < 6; ++i) {
    equal_branches(i);
    equal_cases(i);
    threaded_jumps(i);
    inlined();
  }
  inlined();
  unrolled();
  twin_one();
  twin_two();
  if (arg == &count)
    never();
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, worker, NULL); // SCHED: pthread_create x2
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x2
  printf("count %ld\n", count);
  return 0;
}
