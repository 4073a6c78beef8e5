// A lock every 100 ns from each thread: SIZE rounds a thread of about 100 ns of arithmetic and one lock and
// unlock of one of 64 mutexes, picked at random. The hardest case for anything that sits on a lock.
#include "bench.h"

enum { LOCKS = 64, WORK = 54 };

static struct {
  _Alignas(64) pthread_mutex_t lock;
  uint64_t sum;
} cells[LOCKS];

static void *worker(void *arg) {
  uint64_t seed = (uint64_t)(long)arg, value = 1;
  for (long i = 0; i < size; ++i) {
    for (int k = 0; k < WORK; ++k)
      value = (value ^ value >> 29) * 6364136223846793005u;
    long cell = next_random(&seed) % LOCKS;
    pthread_mutex_lock(&cells[cell].lock);
    cells[cell].sum += value; // [often]
    pthread_mutex_unlock(&cells[cell].lock);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 1500000);
  for (int i = 0; i < LOCKS; ++i)
    pthread_mutex_init(&cells[i].lock, NULL); // [rare]
  run_threads(worker);
  uint64_t sum = 0;
  for (int i = 0; i < LOCKS; ++i) {
    sum += cells[i].sum;
    pthread_mutex_destroy(&cells[i].lock);
  }
  printf("lock100ns %ld: %016lx\n", size, (unsigned long)sum);
  return 0;
}
