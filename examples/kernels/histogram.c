// A histogram: each thread counts in an array of its own, which it makes on the heap; after a barrier each thread adds up
// some of the bins over all threads. One thread, the one with the last number, looks for the fullest bin at the end.
//
//   covsched cc -O2 -pthread histogram.c -o histogram
//   covsched record -o histogram.sched -- ./histogram 2 100
//   covsched specialize histogram --schedule histogram.sched --facts histogram.json
//
// A schedule with two threads covers every number of samples. Under it the threads' counters are different objects, each
// thread's bins are its own when they are added up, and it is decided who looks at the end.
// RECORDED: 2 100
// COVERED: 2 1000
// COVERED: 2 0
// LEAVES: 3 100
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 8, MOST_SAMPLES = 1000, BINS = 32 };

static unsigned char samples[MOST_SAMPLES];
static int *counters[MOST_THREADS];
static long bins[BINS];
static int threads, size, fullest = -1, watcher = -1;
static pthread_barrier_t counted, added;

struct task {
  int id;
  long checked;
};

static int bin_of(unsigned char sample) { return sample * BINS / 256; }

static void count(int *own, int first, int last) {
  for (int i = 0; i < BINS; i++)
    own[i] = 0; // DISJOINT self; LABEL clear
  for (int i = first; i < last; i++)
    own[bin_of(samples[i])]++; // DISJOINT self; DISJOINT clear
}

static long add_bins(int first, int last) {
  long sum = 0;
  for (int bin = first; bin < last; bin++) {
    bins[bin] = 0; // DISJOINT self; LABEL zero
    for (int thread = 0; thread < threads; thread++)
      bins[bin] += counters[thread][bin]; // DISJOINT self; DISJOINT zero
    sum += bins[bin]; // DISJOINT zero
  }
  return sum;
}

static void *worker(void *arg) {
  struct task *task = arg;
  int id = task->id; // CONST t1 load 0; CONST t2 load 1
  int *own = malloc(BINS * sizeof *own);
  counters[id] = own; // DISJOINT self
  count(own, size * id / threads, size * (id + 1) / threads);
  pthread_barrier_wait(&counted);
  task->checked = add_bins(BINS * id / threads, BINS * (id + 1) / threads); // DISJOINT self
  pthread_barrier_wait(&added);
  if (id == threads - 1) { // TAKEN t1 false; TAKEN t2 true
    watcher = id;
    for (int bin = 0; bin < BINS; bin++)
      if (fullest < 0 || bins[bin] > bins[fullest])
        fullest = bin;
  }
  return NULL;
}

static void fill(void) {
  unsigned seed = 99 + (unsigned)size;
  for (int i = 0; i < size; i++) {
    seed = seed * 1103515245u + 12345u;
    samples[i] = (unsigned char)((seed >> 16 & 255) * (seed >> 24 & 255) / 255);
  }
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 2; // CONST t0 call 2
  size = argc > 2 ? atoi(argv[2]) : 100;
  if (threads < 1 || threads > MOST_THREADS || size < 0 || size > MOST_SAMPLES)
    return 2;
  fill();
  pthread_t children[MOST_THREADS];
  struct task tasks[MOST_THREADS];
  pthread_barrier_init(&counted, NULL, (unsigned)threads);
  pthread_barrier_init(&added, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++) {
    tasks[i].id = i;
    tasks[i].checked = 0;
    pthread_create(&children[i], NULL, worker, &tasks[i]);
  }
  long all = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(children[i], NULL);
    all += tasks[i].checked;
    free(counters[i]);
  }
  int who = watcher; // CONST t0 load 1
  printf("histogram of %ld samples by %d: bin %d has %ld\n", all, who, fullest, bins[fullest]);
  return 0;
}
