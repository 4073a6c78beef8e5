// An allocator in its own file, a log and counters that lock: how often depends on the input, the threads do not.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void *pool_get(void);
void pool_put(void *block);

static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t counter_lock;
static long total, lines, counted;
static int rounds;

__attribute__((noinline)) static void log_line(long value) {
  pthread_mutex_lock(&log_lock);
  lines += value % 7;
  pthread_mutex_unlock(&log_lock);
}

static void *worker(void *argument) {
  long number = (long)argument, sum = 0;
  for (int i = 0; i < rounds; ++i) {
    long *block = pool_get();
    *block = number * 100 + i;
    sum += *block;
    if (i % 3 == 0)
      log_line(*block);
    pthread_spin_lock(&counter_lock);
    ++counted;
    pthread_spin_unlock(&counter_lock);
    pool_put(block);
  }
  pthread_mutex_lock(&total_lock);
  total += sum;
  pthread_mutex_unlock(&total_lock);
  return NULL;
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  rounds = count > 1 ? atoi(arguments[1]) : 2;
  pthread_spin_init(&counter_lock, PTHREAD_PROCESS_PRIVATE);
  for (long i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  log_line(rounds);
  printf("%ld %ld %ld\n", total, lines, counted);
  return 0;
}
