// Threads that make threads: a thread's name in a schedule is its place in the creation tree (parent, nth).
// The thread function also calls itself directly, which makes no thread and no entry.
//
//   covsched cc -O2 -pthread nested_threads.c -o nested_threads
//   covsched record -o nested.sched -- ./nested_threads && covsched show nested.sched
#include <pthread.h>
#include <stdio.h>

enum { CHILDREN = 2, DEPTH = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int leaves;

static void *grow(void *arg) {
  long depth = (long)arg;
  if (depth == 0) {
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x12
    leaves++;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x12
    return NULL;
  }
  pthread_t children[CHILDREN];
  for (int i = 0; i < CHILDREN; ++i)
    pthread_create(&children[i], NULL, grow, (void *)(depth - 1)); // SCHED: pthread_create x12
  if (depth == 1)
    grow(NULL);
  for (int i = 0; i < CHILDREN; ++i)
    pthread_join(children[i], NULL); // SCHED: pthread_join x12
  return NULL;
}

int main(void) {
  pthread_t roots[2];
  for (int i = 0; i < 2; ++i)
    pthread_create(&roots[i], NULL, grow, (void *)(DEPTH - 1L)); // SCHED: pthread_create x2
  for (int i = 0; i < 2; ++i)
    pthread_join(roots[i], NULL); // SCHED: pthread_join x2
  printf("%d leaves\n", leaves);
  return 0;
}
