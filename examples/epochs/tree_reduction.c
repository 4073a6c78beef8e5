// A radix sort, the shape of SPLASH-2's radix: rounds with barriers, and in each round a prefix sum over the threads'
// histograms by a tree of semaphores, up and down. The loop over rounds passes barriers; the loops that climb and
// descend the tree do not, and need a marker each (Bergan, Table 3.3: 2 instead of 4; here the loop that makes the
// semaphores has one, too, since that is recorded like any other synchronization: 3 instead of 6).
//
//   covsched cc -O2 -pthread tree_reduction.c -o tree_reduction && covsched epochs ./tree_reduction
//   ./tree_reduction [threads, a power of two [keys]]
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 16, BITS = 4, DIGITS = 1 << BITS, ROUNDS = 32 / BITS };

static int threads = 4;
static long count = 4000;
static unsigned *keys, *sorted;
static pthread_barrier_t phase_done;

/// A thread's count of each digit, and what the tree makes of it.
static struct {
  long own[DIGITS];  // in the thread's part
  long sum[DIGITS];  // over the threads of its subtree
  long base[DIGITS]; // over the threads before it
  sem_t summed;      // posted by this thread for the one above it
  sem_t based;       // posted by the one above it
} nodes[MOST_THREADS];

static unsigned digit(unsigned key, int round) { return key >> round * BITS & (DIGITS - 1); }

static void count_digits(int me, int round) {
  memset(nodes[me].own, 0, sizeof nodes[me].own);
  for (long i = count * me / threads; i < count * (me + 1) / threads; ++i)
    nodes[me].own[digit(keys[i], round)]++;
}

/// Sums up the tree: at each level every other thread hands its sums to its left neighbour and is done.
static int climb(int me) {
  memcpy(nodes[me].sum, nodes[me].own, sizeof nodes[me].sum);
  int step = 1;
  while (step < threads && me % (2 * step) == 0) {
    int right = me + step;
    sem_wait(&nodes[right].summed);
    for (int d = 0; d < DIGITS; ++d)
      nodes[me].sum[d] += nodes[right].sum[d];
    step *= 2;
  }
  return step;
}

/// Gives each subtree the number of keys that stand before its part.
static void descend(int me, int step) {
  while (step > 1) {
    step /= 2;
    int right = me + step;
    for (int d = 0; d < DIGITS; ++d) {
      long in_right = nodes[right].sum[d];
      nodes[me].sum[d] -= in_right;
      nodes[right].base[d] = nodes[me].base[d] + nodes[me].sum[d];
    }
    sem_post(&nodes[right].based);
  }
}

static void prefix_sums(int me) {
  int step = climb(me);
  if (me == 0) {
    long before = 0;
    for (int d = 0; d < DIGITS; ++d) {
      nodes[0].base[d] = before;
      before += nodes[0].sum[d];
    }
  } else {
    sem_post(&nodes[me].summed);
    sem_wait(&nodes[me].based);
  }
  descend(me, step);
}

static void permute(int me, int round) {
  for (long i = count * me / threads; i < count * (me + 1) / threads; ++i)
    sorted[nodes[me].base[digit(keys[i], round)]++] = keys[i];
}

static void *sort_part(void *arg) {
  int me = (int)(long)arg;
  for (int round = 0; round < ROUNDS; ++round) {
    count_digits(me, round);
    prefix_sums(me);
    permute(me, round);
    if (pthread_barrier_wait(&phase_done) == PTHREAD_BARRIER_SERIAL_THREAD) {
      unsigned *other = keys;
      keys = sorted;
      sorted = other;
    }
    pthread_barrier_wait(&phase_done);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc > 1)
    threads = atoi(argv[1]);
  if (argc > 2)
    count = atol(argv[2]);
  if (threads < 1 || threads > MOST_THREADS || (threads & (threads - 1)) || count < 1) {
    fprintf(stderr, "usage: tree_reduction [threads (a power of two, at most %d) [keys]]\n", MOST_THREADS);
    return 2;
  }
  keys = calloc(count, sizeof *keys);
  sorted = calloc(count, sizeof *sorted);
  if (!keys || !sorted)
    return 1;
  unsigned seed = 3, before = 0, after = 0;
  for (long i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    keys[i] = seed;
    before += seed;
  }
  pthread_barrier_init(&phase_done, NULL, threads);
  for (int i = 0; i < threads; ++i) {
    sem_init(&nodes[i].summed, 0, 0);
    sem_init(&nodes[i].based, 0, 0);
  }

  pthread_t ids[MOST_THREADS];
  for (long i = 0; i < threads; ++i)
    if (pthread_create(&ids[i], NULL, sort_part, (void *)i) != 0) {
      perror("pthread_create");
      exit(1);
    }
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);

  int ascending = 1;
  for (long i = 0; i < count; ++i) {
    after += keys[i];
    if (i > 0 && keys[i - 1] > keys[i])
      ascending = 0;
  }
  printf("%ld keys, %s, median %u\n", count, ascending && before == after ? "sorted" : "WRONG", keys[count / 2]);
  pthread_barrier_destroy(&phase_done);
  free(keys);
  free(sorted);
  return ascending && before == after ? 0 : 1;
}
