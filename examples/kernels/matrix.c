// A matrix product: each thread makes some rows of it, from rows of one matrix and the columns of the other, in blocks of
// columns. The matrices are on the heap, rows of a fixed width.
//
//   covsched cc -O2 -pthread matrix.c -o matrix
//   covsched record -o matrix.sched -- ./matrix 3 20
//   covsched specialize matrix --schedule matrix.sched --facts matrix.json
//
// A schedule with three threads covers every size. Under it each thread's number, the number of threads and the addresses of its
// task are constants, and the rows that a thread writes are its own; the factors are only read meanwhile.
// RECORDED: 3 20
// COVERED: 3 33
// COVERED: 3 1
// LEAVES: 2 20
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 8, WIDTH = 64, BLOCK = 8 };

typedef long row[WIDTH];

struct task {
  int id, first, last;
  const row *left, *right;
  row *product;
  long trace;
};

static int threads, size;
static struct task tasks[MOST_THREADS];

static int smaller(int a, int b) { return a < b ? a : b; }

static long dot(const row *left, const row *right, int i, int j) {
  long sum = 0;
  for (int k = 0; k < size; k++)
    sum += left[i][k] * right[k][j];
  return sum;
}

static void *worker(void *arg) {
  struct task *task = arg;
  int id = task->id; // CONST t1 load 0; CONST t2 load 1; CONST t3 load 2
  row *product = task->product;
  for (int block = 0; block < size; block += BLOCK)
    for (int i = task->first; i < task->last; i++)
      for (int j = block; j < smaller(block + BLOCK, size); j++)
        product[i][j] = dot(task->left, task->right, i, j) + id; // DISJOINT self
  for (int i = task->first; i < task->last; i++)
    task->trace += product[i][i]; // DISJOINT self
  return NULL;
}

static row *make(long factor) {
  row *matrix = malloc(WIDTH * sizeof *matrix);
  for (int i = 0; i < WIDTH; i++)
    for (int j = 0; j < WIDTH; j++)
      matrix[i][j] = (i * factor + j) % 17;
  return matrix;
}

// Each thread's rows: as many for each, but one more for the first ones if there are some left.
static void divide(const row *left, const row *right, row *product) {
  int next = 0;
  for (int i = 0; i < threads; i++) { // TRIPS t0 3
    tasks[i].id = i;
    tasks[i].first = next;
    next += size / threads + (i < size % threads);
    tasks[i].last = next;
    tasks[i].left = left;
    tasks[i].right = right;
    tasks[i].product = product;
  }
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 3; // CONST t0 call 3
  size = argc > 2 ? atoi(argv[2]) : 20;
  if (threads < 1 || threads > MOST_THREADS || size < 0 || size > WIDTH)
    return 2;
  row *left = make(3), *right = make(5), *product = make(0);
  divide(left, right, product);
  pthread_t children[MOST_THREADS];
  for (int i = 0; i < threads; i++)
    pthread_create(&children[i], NULL, worker, &tasks[i]);
  for (int i = 0; i < threads; i++)
    pthread_join(children[i], NULL);
  long trace = 0;
  unsigned long hash = 0;
  for (int i = 0; i < threads; i++) // TRIPS t0 3
    trace += tasks[i].trace;
  for (int i = 0; i < size; i++)
    for (int j = 0; j < size; j++)
      hash = hash * 31 + (unsigned long)product[i][j];
  printf("matrix product of %d rows: trace %ld, hash %lx\n", size, trace, hash);
  free(left);
  free(right);
  free(product);
  return 0;
}
