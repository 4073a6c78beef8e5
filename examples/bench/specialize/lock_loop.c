// THREADS threads add SIZE numbers each to sums, one lock for each: a loop around a lock, with a branch in it.
#include "../bench.h"

enum { SUMS = 4 };

static struct {
  pthread_mutex_t lock;
  uint64_t value;
} sums[SUMS];

static void *worker(void *arg) {
  uint64_t state = (uint64_t)(long)arg;
  for (long i = 0; i < size; ++i) {
    uint64_t number = next_random(&state);
    int sum = (int)(number % SUMS);
    pthread_mutex_lock(&sums[sum].lock);
    if (number & 1024)
      sums[sum].value += number;
    else
      sums[sum].value ^= 1;
    pthread_mutex_unlock(&sums[sum].lock);
  }
  return arg;
}

int main(int argc, char *argv[]) {
  uint64_t all = 0;
  read_arguments(argc, argv, 4, 62);
  for (int i = 0; i < SUMS; ++i)
    pthread_mutex_init(&sums[i].lock, NULL);
  run_threads(worker);
  for (int i = 0; i < SUMS; ++i)
    all += sums[i].value;
  printf("lock_loop %ld: %llu\n", size, (unsigned long long)all);
  return 0;
}
