// pthread_once: four threads need a table, one of them makes it (begin, end), the others wait for that. The
// routine itself synchronizes, so its lock stands between the begin and the end.
//
//   covsched cc -O2 -pthread once.c -o once
//   covsched record -o once.sched -- ./once && covsched show once.sched
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, SIZE = 16 };

static pthread_once_t table_made = PTHREAD_ONCE_INIT;
static pthread_mutex_t makers_lock = PTHREAD_MUTEX_INITIALIZER;
static int table[SIZE], makers;

static void make_table(void) {
  pthread_mutex_lock(&makers_lock); // SCHED: pthread_mutex_lock x1
  makers++;
  pthread_mutex_unlock(&makers_lock); // SCHED: pthread_mutex_unlock x1
  for (int i = 0; i < SIZE; ++i)
    table[i] = i * i;
}

static void *worker(void *sum) {
  pthread_once(&table_made, make_table); // SCHED: pthread_once x4
  pthread_once(&table_made, make_table); // SCHED: pthread_once x4
  for (int i = 0; i < SIZE; ++i)
    *(int *)sum += table[i];
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  int sums[THREADS] = {0}, total = 0;
  for (int i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, worker, &sums[i]); // SCHED: pthread_create x4
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL); // SCHED: pthread_join x4
    total += sums[i];
  }
  printf("total %d, made %d time\n", total, makers);
  return 0;
}
