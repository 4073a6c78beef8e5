// An iterative radix-2 FFT, forward and back: a barrier after each of its stages.
// SIZE is the logarithm of the number of points.
#include "bench.h"
#include <math.h>

struct point {
  double re, im;
};

static struct point *points, *roots;
static long count;
static double direction;
static struct OWN_LINES {
  pthread_barrier_t barrier;
} stage_done;

static long reversed(long x) {
  long result = 0;
  for (long bit = 0; bit < size; ++bit)
    result |= (x >> bit & 1) << (size - 1 - bit);
  return result;
}

static void butterfly(struct point *low, struct point *high, struct point root) {
  struct point turned = {root.re * high->re - root.im * high->im, root.re * high->im + root.im * high->re};
  *high = (struct point){low->re - turned.re, low->im - turned.im};
  *low = (struct point){low->re + turned.re, low->im + turned.im};
}

static void *transform(void *arg) {
  long me = (long)arg;
  long first = count * me / threads, last = count * (me + 1) / threads;
  for (long i = first; i < last; ++i) {
    long j = reversed(i);
    if (i < j) {
      struct point swap = points[i];
      points[i] = points[j];
      points[j] = swap;
    }
  }
  pthread_barrier_wait(&stage_done.barrier);
  for (long stage = 0; stage < size; ++stage) {
    long half = 1L << stage;
    for (long k = first / 2; k < last / 2; ++k) {
      long offset = k & (half - 1), at = ((k >> stage) << (stage + 1)) + offset;
      struct point root = roots[offset << (size - 1 - stage)];
      root.im *= direction;
      butterfly(&points[at], &points[at + half], root);
    }
    pthread_barrier_wait(&stage_done.barrier);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 21);
  if (size > 30)
    return 2;
  count = 1L << size;
  points = allocate(count, sizeof *points);
  roots = allocate(count / 2, sizeof *roots);
  for (long i = 0; i < count / 2; ++i) {
    double angle = 2 * 3.14159265358979323846 * (double)i / (double)count;
    roots[i] = (struct point){cos(angle), -sin(angle)};
  }
  uint64_t seed = 1;
  for (long i = 0; i < count; ++i)
    points[i].re = (double)(next_random(&seed) % 256);
  pthread_barrier_init(&stage_done.barrier, NULL, threads);
  direction = 1;
  run_threads(transform);
  direction = -1;
  run_threads(transform);
  pthread_barrier_destroy(&stage_done.barrier);
  seed = 1;
  long wrong = 0, sum = 0;
  for (long i = 0; i < count; ++i) {
    long value = lround(points[i].re / (double)count);
    wrong += value != (long)(next_random(&seed) % 256);
    sum += value;
  }
  printf("fft 2^%ld: sum %ld, wrong %ld\n", size, sum, wrong);
  return wrong != 0;
}
