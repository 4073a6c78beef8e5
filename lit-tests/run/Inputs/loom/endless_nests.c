// Threads that hardly ever leave their loops, each with one of another shape: short in long, long in short, long in long, with
// calls of functions that only compute, up and down, over what a vector loop leaves. An update reaches all of them soon.
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHAPES = 7, N = 1 << 12 };

static uint64_t sums[SHAPES];

static uint64_t nest(long shape, uint32_t *data, double *reals, long rows, long columns) {
  uint64_t sum = 0;
  switch (shape) {
  case 0:
    for (long i = 0; i < rows; ++i)
      for (long j = 0; j < columns; ++j)
        sum += data[(i * 3 + j) & (N - 1)] ^ (sum >> 3);
    break;
  case 1:
    for (long i = rows; i > 0; i -= 3)
      for (unsigned j = 0; j != (unsigned)columns; ++j)
        reals[j & (N - 1)] += pow(1.5, (double)(i & 3));
    break;
  case 2:
    for (long i = 0; i < rows; ++i) {
      for (long j = 0; j < columns; ++j)
        data[j & (N - 1)] += (uint32_t)i;
      for (long j = columns; j > 0; j -= 2)
        sum += data[j & (N - 1)];
    }
    break;
  case 3:
    for (long i = 0; i < rows; ++i)
      for (long j = i & 1 ? 0 : columns - 1; j < columns; ++j)
        sum = sum * 3 + (uint64_t)j;
    break;
  default:
    for (long i = 0; i < rows; ++i)
      for (long j = 0; j < columns && j < N; ++j)
        reals[j] = reals[j] * 0.5 + 1.0;
  }
  return sum;
}

static void *worker(void *given) {
  static const long many = 1L << 40;
  const long sizes[SHAPES][2] = {{many, 3}, {many, 1 << 30}, {5, many}, {many, 1 << 14}, {many, 12}, {many, 3000}, {many, N}};
  long me = (long)given;
  uint32_t *data = calloc(N, sizeof *data);
  double *reals = calloc(N, sizeof *reals);
  for (;;)
    sums[me] += nest(me, data, reals, sizes[me][0], sizes[me][1]);
}

static void beat(volatile uint64_t *beats) {
  ++*beats; // [beat]
  usleep(1000);
}

int main(int argc, char *argv[]) {
  int file = argc > 3 ? open(argv[3], O_RDWR) : -1;
  uint64_t *counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counters == MAP_FAILED)
    return 2;
  pthread_t thread;
  for (long i = 0; i < SHAPES; ++i)
    if (pthread_create(&thread, NULL, worker, (void *)i) != 0)
      return 2;
  for (;;)
    beat(counters);
}
