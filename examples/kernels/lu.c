// LU factorization without pivoting, in the manner of SPLASH-2's lu: the rows go round among the threads, and a barrier stands
// after each pivot row. How many barriers there are is the schedule's, so that the size of the matrix is a constant, too.
//
//   covsched cc -O2 -pthread lu.c -o lu
//   covsched record -o lu.sched -- ./lu 2 6 1
//   covsched specialize lu --schedule lu.sched --facts lu.json
//
// A schedule with two threads and a matrix of 6 rows covers every content of the matrix (the third argument). Under it both
// numbers are constants, as are the numbers of the threads. Each thread changes its own rows only, and the
// pivot row that all read is changed by none.
// RECORDED: 2 6 1
// COVERED: 2 6 17
// COVERED: 2 6 4
// LEAVES: 2 7 1
// LEAVES: 3 6 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 8, MOST_ROWS = 32 };

struct task {
  int id;
  int rows_done;
};

static double matrix[MOST_ROWS][MOST_ROWS], original[MOST_ROWS][MOST_ROWS];
static int threads, size;
static struct task tasks[MOST_THREADS];
static pthread_barrier_t barrier;

// The first row from `row` on that a thread owns.
static int first_own(int row, int id) {
  int offset = row % threads;
  return offset <= id ? row - offset + id : row - offset + id + threads;
}

static void *worker(void *arg) {
  struct task *task = arg;
  int id = task->id; // CONST t1 load 0; CONST t2 load 1
  for (int pivot = 0; pivot < size; pivot++) {
    for (int row = first_own(pivot + 1, id); row < size; row += threads) {
      double factor = matrix[row][pivot] / matrix[pivot][pivot];
      matrix[row][pivot] = factor; // DISJOINT self; LABEL factor
      for (int column = pivot + 1; column < size; column++)
        matrix[row][column] -= factor * matrix[pivot][column]; // DISJOINT self; DISJOINT factor
      task->rows_done++; // DISJOINT self
    }
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

// Some numbers with a strong diagonal, which needs no pivoting.
static void fill(unsigned seed) {
  for (int row = 0; row < size; row++)
    for (int column = 0; column < size; column++) {
      seed = seed * 1103515245u + 12345u;
      original[row][column] = seed >> 16 & 255;
      if (row == column)
        original[row][column] += 256 * size;
      matrix[row][column] = original[row][column];
    }
}

// The largest difference between L times U and the matrix.
static double largest_error(void) {
  double largest = 0;
  for (int row = 0; row < size; row++)
    for (int column = 0; column < size; column++) {
      double sum = 0;
      for (int k = 0; k <= row && k <= column; k++)
        sum += (k == row ? 1 : matrix[row][k]) * matrix[k][column];
      double error = sum - original[row][column];
      if (error < 0)
        error = -error;
      if (error > largest)
        largest = error;
    }
  return largest;
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 2;          // CONST t0 call 2
  size = argc > 2 ? atoi(argv[2]) : 6;             // CONST t0 call 6
  unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : 1; // NOT CONST t0 call
  if (threads < 1 || threads > MOST_THREADS || size < 1 || size > MOST_ROWS)
    return 2;
  fill(seed);
  pthread_t children[MOST_THREADS];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++) {
    tasks[i].id = i;
    pthread_create(&children[i], NULL, worker, &tasks[i]);
  }
  int done = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(children[i], NULL);
    done += tasks[i].rows_done;
  }
  pthread_barrier_destroy(&barrier);
  double trace = 0;
  for (int i = 0; i < size; i++)
    trace += matrix[i][i];
  printf("lu of %d rows, %d steps: trace %.6f, %s\n", size, done, trace, largest_error() < 1e-6 ? "right" : "wrong");
  return 0;
}
