// Partition by lock order: the program of Wu's Figure 4.1. Each worker takes its number under a lock and
// then works on its own part of `results`. Which part a worker gets depends on the schedule alone.
//
//   covsched cc -O2 -pthread partition.c -o partition
//   covsched record -o partition.sched -- ./partition 4 1000
//   covsched show partition.sched
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 64
#define MAX_RESULTS 100000

static long results[MAX_RESULTS];
static struct {
  int first, last;
} ranges[MAX_THREADS];
static int global_id;
static pthread_mutex_t global_id_lock = PTHREAD_MUTEX_INITIALIZER;

static long compute(long i) { return i * i % 1009; }

static void *worker(void *arg) {
  pthread_mutex_lock(&global_id_lock); // SCHED: pthread_mutex_lock x4
  int my_id = global_id++;
  pthread_mutex_unlock(&global_id_lock); // SCHED: pthread_mutex_unlock x4
  for (int i = ranges[my_id].first; i < ranges[my_id].last; ++i)
    results[i] = compute(i);
  return arg;
}

int main(int argc, char *argv[]) {
  pthread_t child[MAX_THREADS];
  int p = argc > 1 ? atoi(argv[1]) : 4, n = argc > 2 ? atoi(argv[2]) : 1000;
  if (p < 1 || p > MAX_THREADS || n < 0 || n > MAX_RESULTS)
    return 2;
  for (int i = 0; i < p; ++i) {
    ranges[i].first = n * i / p;
    ranges[i].last = n * (i + 1) / p;
  }
  for (int i = 0; i < p; ++i)
    pthread_create(&child[i], NULL, worker, NULL); // SCHED: pthread_create x4
  for (int i = 0; i < p; ++i)
    pthread_join(child[i], NULL); // SCHED: pthread_join x4
  long sum = 0;
  for (int i = 0; i < n; ++i)
    sum += results[i];
  printf("%d results, sum %ld\n", n, sum);
  return 0;
}
