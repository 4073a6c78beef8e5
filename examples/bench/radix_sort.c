// A parallel radix sort of 32-bit keys, 8 bits a pass: each thread counts its part, one thread makes the
// offsets, each thread scatters its part; barriers between. SIZE is the number of keys.
#include "bench.h"

enum { BITS = 8, BUCKETS = 1 << BITS };

static uint32_t *from, *to;
static long counts[MAX_THREADS][BUCKETS];
static struct OWN_LINES {
  pthread_barrier_t barrier;
} step_done;

static void make_offsets(void) {
  long offset = 0;
  for (int bucket = 0; bucket < BUCKETS; ++bucket)
    for (int t = 0; t < threads; ++t) {
      long here = counts[t][bucket];
      counts[t][bucket] = offset;
      offset += here;
    }
}

static void *sort_part(void *arg) {
  long me = (long)arg;
  long first = size * me / threads, last = size * (me + 1) / threads;
  long *mine = counts[me];
  for (int shift = 0; shift < 32; shift += BITS) {
    for (int bucket = 0; bucket < BUCKETS; ++bucket)
      mine[bucket] = 0;
    for (long i = first; i < last; ++i)
      mine[from[i] >> shift & (BUCKETS - 1)]++;
    pthread_barrier_wait(&step_done.barrier);
    if (me == 0)
      make_offsets();
    pthread_barrier_wait(&step_done.barrier);
    for (long i = first; i < last; ++i)
      to[mine[from[i] >> shift & (BUCKETS - 1)]++] = from[i];
    pthread_barrier_wait(&step_done.barrier);
    if (me == 0) {
      uint32_t *swap = from;
      from = to;
      to = swap;
    }
    pthread_barrier_wait(&step_done.barrier);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 16000000);
  from = allocate(size, sizeof *from);
  to = allocate(size, sizeof *to);
  uint64_t seed = 1;
  for (long i = 0; i < size; ++i)
    from[i] = (uint32_t)next_random(&seed);
  pthread_barrier_init(&step_done.barrier, NULL, threads);
  run_threads(sort_part);
  pthread_barrier_destroy(&step_done.barrier);
  uint64_t sum = 0;
  long wrong = 0;
  for (long i = 0; i < size; ++i) {
    sum = sum * 31 + from[i];
    wrong += i > 0 && from[i - 1] > from[i];
  }
  printf("radix_sort %ld: %016lx, out of order %ld\n", size, (unsigned long)sum, wrong);
  return wrong != 0;
}
