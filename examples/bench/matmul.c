// A blocked matrix multiply: threads take tiles of the result from a counter under a lock.
// SIZE is the matrix's side. Few synchronizations, much arithmetic.
#include "bench.h"

enum { BLOCK = 32 };

static double *a, *b, *c;
static struct OWN_LINES {
  pthread_mutex_t lock;
  long next;
} tiles = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long min(long x, long y) { return x < y ? x : y; }

static void multiply_tile(long row, long column) {
  long rows = min(row + BLOCK, size), columns = min(column + BLOCK, size);
  for (long inner = 0; inner < size; inner += BLOCK)
    for (long i = row; i < rows; ++i)
      for (long k = inner; k < min(inner + BLOCK, size); ++k) {
        double factor = a[i * size + k];
        for (long j = column; j < columns; ++j)
          c[i * size + j] += factor * b[k * size + j];
      }
}

static void *worker(void *arg) {
  long side = (size + BLOCK - 1) / BLOCK;
  for (;;) {
    pthread_mutex_lock(&tiles.lock);
    long tile = tiles.next++;
    pthread_mutex_unlock(&tiles.lock);
    if (tile >= side * side)
      return arg;
    multiply_tile(tile / side * BLOCK, tile % side * BLOCK);
  }
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 1024);
  a = allocate(size * size, sizeof *a);
  b = allocate(size * size, sizeof *b);
  c = allocate(size * size, sizeof *c);
  uint64_t seed = 1;
  for (long i = 0; i < size * size; ++i) {
    a[i] = next_random(&seed) % 16;
    b[i] = next_random(&seed) % 16;
  }
  run_threads(worker);
  double sum = 0;
  for (long i = 0; i < size * size; ++i)
    sum += c[i] * (i % 7);
  printf("matmul %ld: %.0f\n", size, sum);
  return 0;
}
