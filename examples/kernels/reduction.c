// A tree reduction: each thread finds sum, least and greatest of its part; then, in rounds, every second, fourth, eighth
// thread takes in the result of a neighbour, until the first one has all. Barriers stand between the rounds. At the end each
// thread moves its values so that their mean is about 0.
//
//   covsched cc -O2 -pthread reduction.c -o reduction
//   covsched record -o reduction.sched -- ./reduction 4 100
//   covsched specialize reduction --schedule reduction.sched --facts reduction.json
//
// A schedule with four threads covers every number of values. Under it each thread's number is a constant, so that who takes
// part in which round, and with whom, is decided: the branches are gone, and in no round does one thread read what another
// writes.
// RECORDED: 4 100
// COVERED: 4 4
// COVERED: 4 777
// LEAVES: 2 100
// LEAVES: 3 100
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 16, MOST_VALUES = 1000 };

struct result {
  long sum;
  int least, greatest;
};

static int values[MOST_VALUES];
static struct result results[MOST_THREADS];
static int threads, size;
static pthread_barrier_t barrier;

static int smaller(int a, int b) { return a < b ? a : b; }
static int larger(int a, int b) { return a > b ? a : b; }

// What a thread finds in its part, which may be empty.
static void find(int id) {
  int first = size * id / threads, last = size * (id + 1) / threads;
  struct result *own = &results[id];
  own->sum = 0;            // DISJOINT self
  own->least = 1000;       // DISJOINT self
  own->greatest = -1000;   // DISJOINT self
  for (int i = first; i < last; i++) {
    own->sum += values[i]; // DISJOINT self
    own->least = smaller(own->least, values[i]);      // DISJOINT self
    own->greatest = larger(own->greatest, values[i]); // DISJOINT self
  }
}

static void merge(struct result *to, const struct result *from) {
  to->sum += from->sum; // DISJOINT self
  to->least = smaller(to->least, from->least); // DISJOINT self
  to->greatest = larger(to->greatest, from->greatest); // DISJOINT self
}

static void centre(int id) {
  int first = size * id / threads, last = size * (id + 1) / threads;
  int mean = size > 0 ? (int)(results[0].sum / size) : 0;
  for (int i = first; i < last; i++)
    values[i] -= mean; // DISJOINT self
}

static void *worker(void *arg) {
  int id = (int)(long)arg; // CONST t1 any 0; CONST t2 any 1; CONST t3 any 2; CONST t4 any 3
  find(id);
  for (int step = 1; step < threads; step *= 2) {
    pthread_barrier_wait(&barrier);
    // TAKEN t1 true; NOT TAKEN t1 false; TAKEN t2 false; NOT TAKEN t2 true; TAKEN t3 true; TAKEN t3 false; TAKEN t4 false
    if (id % (2 * step) == 0 && id + step < threads)
      merge(&results[id], &results[id + step]);
  }
  pthread_barrier_wait(&barrier);
  centre(id);
  return NULL;
}

static void fill(void) {
  unsigned seed = (unsigned)size;
  for (int i = 0; i < size; i++) {
    seed = seed * 1103515245u + 12345u;
    values[i] = (int)(seed >> 16 & 1023) - 512;
  }
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 4; // CONST t0 call 4
  size = argc > 2 ? atoi(argv[2]) : 100;
  if (threads < 1 || threads > MOST_THREADS || size < 0 || size > MOST_VALUES)
    return 2;
  fill();
  pthread_t children[MOST_THREADS];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (long i = 0; i < threads; i++)
    pthread_create(&children[i], NULL, worker, (void *)i);
  for (int i = 0; i < threads; i++)
    pthread_join(children[i], NULL);
  pthread_barrier_destroy(&barrier);
  long sum = results[0].sum; // NOT CONST t0 load
  long rest = 0;
  for (int i = 0; i < size; i++)
    rest += values[i];
  printf("reduction of %d values: sum %ld, least %d, greatest %d, centred %ld\n", size, sum, results[0].least,
         results[0].greatest, rest);
  return 0;
}
