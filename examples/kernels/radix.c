// Radix sort, in the manner of SPLASH-2's radix: each thread counts the digits of its part of the keys, the counts of all
// become places, and each thread moves its keys to them. Four passes of 4 bits.
//
//   covsched cc -O2 -pthread radix.c -o radix
//   covsched record -o radix.sched -- ./radix 2 40
//   covsched specialize radix --schedule radix.sched --facts radix.json
//
// A schedule with two threads covers every number of keys. Under it each thread has its own row of counts and its own part of
// the keys; which of the two arrays is read and which is written is known in each pass, and so is the shift. Where
// the keys are moved to, nobody can know.
// RECORDED: 2 40
// COVERED: 2 333
// COVERED: 2 0
// LEAVES: 3 40
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 8, MOST_KEYS = 1000, DIGITS = 16, BITS = 4, PASSES = 4 };

static unsigned keys[2][MOST_KEYS];
static int counts[MOST_THREADS][DIGITS], places[MOST_THREADS][DIGITS];
static int threads, size;
static pthread_barrier_t barrier;

static unsigned digit_of(unsigned key, int pass) { return key >> (pass * BITS) & (DIGITS - 1); }

static void *worker(void *arg) {
  long id = (long)arg;
  int first = size * (int)id / threads, last = size * ((int)id + 1) / threads; // CONST t1 load 2; CONST t2 load 2
  for (int pass = 0; pass < PASSES; pass++) {
    unsigned *from = keys[pass % 2], *to = keys[(pass + 1) % 2];
    for (int digit = 0; digit < DIGITS; digit++)
      counts[id][digit] = 0; // DISJOINT self; LABEL clear
    for (int i = first; i < last; i++)
      counts[id][digit_of(from[i], pass)]++; // DISJOINT self; DISJOINT clear
    pthread_barrier_wait(&barrier);

    // Keys with a smaller digit stand before, and so do keys with the same digit of threads before this one.
    int before = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
      int place = before;
      for (int other = 0; other < threads; other++) {
        if (other < id)
          place += counts[other][digit]; // DISJOINT write
        before += counts[other][digit];  // DISJOINT write
      }
      places[id][digit] = place; // DISJOINT self; LABEL write
    }
    for (int i = first; i < last; i++)
      to[places[id][digit_of(from[i], pass)]++] = from[i]; // NOT CONST t1 load; NOT CONST t2 load
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

static unsigned long fill(void) {
  unsigned long sum = 0;
  unsigned seed = 12345 + (unsigned)size;
  for (int i = 0; i < size; i++) {
    seed = seed * 1103515245u + 12345u;
    keys[0][i] = seed >> 8 & 0xffff;
    sum += keys[0][i] * 2654435761ul;
  }
  return sum;
}

// Whether the keys are in order, and the same ones as at first: their number and the sum of a function of each.
static int is_sorted(const unsigned *sorted, unsigned long wanted) {
  unsigned long sum = 0;
  for (int i = 0; i < size; i++) {
    sum += sorted[i] * 2654435761ul;
    if (i > 0 && sorted[i - 1] > sorted[i])
      return 0;
  }
  return sum == wanted;
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 2; // CONST t0 call 2
  size = argc > 2 ? atoi(argv[2]) : 40;   // NOT CONST t0 call 40
  if (threads < 1 || threads > MOST_THREADS || size < 0 || size > MOST_KEYS)
    return 2;
  unsigned long sum = fill();
  pthread_t children[MOST_THREADS];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (long i = 0; i < threads; i++)
    pthread_create(&children[i], NULL, worker, (void *)i);
  for (int i = 0; i < threads; i++)
    pthread_join(children[i], NULL);
  pthread_barrier_destroy(&barrier);
  const unsigned *sorted = keys[PASSES % 2];
  unsigned long hash = 0;
  for (int i = 0; i < size; i++)
    hash = hash * 31 + sorted[i];
  printf("radix: %d keys, %s, hash %lx\n", size, is_sorted(sorted, sum) ? "sorted" : "not sorted", hash);
  return 0;
}
