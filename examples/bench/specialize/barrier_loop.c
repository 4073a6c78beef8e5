// THREADS threads take turns at SIZE sums, a barrier after each: a loop around a barrier.
#include "../bench.h"

static pthread_barrier_t barrier;
static uint64_t sum[2] = {1, 1};

static void *worker(void *arg) {
  for (long round = 0; round < size; ++round) {
    if (round % threads == (long)arg)
      sum[round % 2] += 3 * sum[(round + 1) % 2];
    pthread_barrier_wait(&barrier);
  }
  return arg;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 125);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  run_threads(worker);
  printf("barrier_loop %ld: %llu\n", size, (unsigned long long)(sum[0] ^ sum[1]));
  return 0;
}
