// Functions that are described to the analysis by others, which nobody calls: `stir` is said to write its scratch memory only, and
// `measure` nothing. The analysis alone would think that both can write `cell`.
// RECORDED: 5
// COVERED: 9
// SPECIALIZE: --summaries HERE/summaries.txt
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned input, cell, scratch[16], results[2];
static unsigned *places[3] = {&scratch[0], &scratch[8], &cell};

// Too much for an analysis: where it writes depends on what it has written.
__attribute__((noinline)) static void stir(unsigned seed) {
  unsigned *place = places[seed & 1];
  for (unsigned i = 0; i < 8; i++) {
    unsigned at = (seed + i * 5) & 7;
    place[at] = seed ^ place[at];
    places[1 - (place[at] & 1)][7 - at] += i;
    seed = seed * 31 + place[at];
  }
}
__attribute__((noinline)) static unsigned measure(unsigned seed) {
  unsigned *place = places[seed & 1], sum = seed;
  for (unsigned i = 0; i < 8; i++)
    sum = (sum ^ (sum >> 3)) + place[i]++;
  return sum & 7;
}

void stir_summary(unsigned seed);
void stir_summary(unsigned seed) { scratch[seed & 15] = seed; }
unsigned measure_summary(unsigned seed);
unsigned measure_summary(unsigned seed) { return seed & 7; }

static void *worker(void *unused) {
  cell = 6;
  stir(input);
  unsigned got = cell; // CONST t1 load 6
  unsigned size = measure(input); // NOT CONST t1 call
  results[0] = size + cell * 100; // CONST t1 load 6
  results[1] = got;
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? (unsigned)atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%u %u %u\n", results[0], results[1], scratch[3]);
  return 0;
}
