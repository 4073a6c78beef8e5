// A matrix that is factored in phases, the shape of SPLASH-2's lu: in each step one thread divides the pivot row's
// column, a barrier, all threads update their rows of what is left, a barrier. Every iteration of the loop over steps
// passes barriers, which end epochs by themselves: no epoch marker is needed (Bergan, Table 3.3: 0 instead of 2; here 0
// instead of 3, with the loops that create and join).
//
//   covsched cc -O2 -pthread barrier_matrix.c -o barrier_matrix && covsched epochs ./barrier_matrix
//   ./barrier_matrix [threads [size]]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 64 };

static int threads = 4, size = 48;
static double *matrix; // size by size, row by row; L below the diagonal and U above it at the end
static pthread_barrier_t step_done;

static double *row(int i) { return matrix + (long)i * size; }

/// Rows are dealt out like cards, so that the work stays even while the rest shrinks.
static int owns(int thread, int i) { return i % threads == thread; }

static void divide_column(int step) {
  for (int i = step + 1; i < size; ++i)
    row(i)[step] /= row(step)[step];
}

static void update_rows(int thread, int step) {
  for (int i = step + 1; i < size; ++i) {
    if (!owns(thread, i))
      continue;
    double factor = row(i)[step];
    for (int j = step + 1; j < size; ++j)
      row(i)[j] -= factor * row(step)[j];
  }
}

static void factor(int thread) {
  for (int step = 0; step < size; ++step) {
    if (owns(thread, step))
      divide_column(step);
    pthread_barrier_wait(&step_done);
    update_rows(thread, step);
    pthread_barrier_wait(&step_done);
  }
}

static void *worker(void *arg) {
  factor((int)(long)arg);
  return NULL;
}

static void fill(void) {
  unsigned seed = 7;
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) {
      seed = seed * 1103515245u + 12345u;
      row(i)[j] = seed / 65536 % 100 / 100.0 + (i == j ? 10.0 * size : 0);
    }
}

int main(int argc, char **argv) {
  if (argc > 1)
    threads = atoi(argv[1]);
  if (argc > 2)
    size = atoi(argv[2]);
  if (threads < 1 || threads > MOST_THREADS || size < 1 || size > 4096) {
    fprintf(stderr, "usage: barrier_matrix [threads (1 to %d) [size]]\n", MOST_THREADS);
    return 2;
  }
  matrix = calloc((long)size * size, sizeof *matrix);
  if (!matrix)
    return 1;
  fill();
  pthread_barrier_init(&step_done, NULL, threads);

  // The main thread does a part of the work itself.
  pthread_t ids[MOST_THREADS];
  for (long i = 1; i < threads; ++i)
    if (pthread_create(&ids[i], NULL, worker, (void *)i) != 0) {
      perror("pthread_create");
      exit(1);
    }
  factor(0);
  for (int i = 1; i < threads; ++i)
    pthread_join(ids[i], NULL);

  pthread_barrier_destroy(&step_done);
  double trace = 0;
  for (int i = 0; i < size; ++i)
    trace += row(i)[i];
  printf("size %d, trace of U %.6f\n", size, trace);
  free(matrix);
  return 0;
}
