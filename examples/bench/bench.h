// What the benchmark programs share: arguments `THREADS SIZE`, and starting and joining equal threads.
// A program prints one line with a checksum that depends on the arguments alone, so that every build must agree.
#ifndef COVSCHED_BENCH_H
#define COVSCHED_BENCH_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64 };

// Of a structure: it fills cache lines of its own. What threads write stands in such ones; else luck decides, in each build anew, whether
// it shares a line with SIZE, and each lock makes all other threads wait for that.
#define OWN_LINES __attribute__((aligned(64)))

static int threads;
static long size;

static inline void read_arguments(int argc, char *argv[], int default_threads, long default_size) {
  threads = argc > 1 ? atoi(argv[1]) : default_threads;
  size = argc > 2 ? atol(argv[2]) : default_size;
  if (threads < 1 || threads > MAX_THREADS || size < 1) {
    fprintf(stderr, "usage: %s [THREADS (1 to %d)] [SIZE]\n", argv[0], MAX_THREADS);
    exit(2);
  }
}

static inline void *allocate(size_t count, size_t bytes) {
  void *memory = calloc(count, bytes);
  if (!memory) {
    perror("calloc");
    exit(2);
  }
  return memory;
}

// Runs `worker` in `threads` threads, each with its number as the argument, and waits for them.
static inline void run_threads(void *(*worker)(void *)) {
  pthread_t ids[MAX_THREADS];
  for (long i = 0; i < threads; ++i)
    if (pthread_create(&ids[i], NULL, worker, (void *)i) != 0)
      abort();
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);
}

// A small random number generator (SplitMix64), so that inputs are the same everywhere.
static inline uint64_t next_random(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

#endif
