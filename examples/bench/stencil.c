// A five-point stencil on a square grid, rows split among the threads, a barrier after each sweep.
// SIZE is the grid's side; there are 1000 sweeps.
#include "bench.h"

enum { SWEEPS = 1000 };

static float *grids[2];
static struct OWN_LINES {
  pthread_barrier_t barrier;
} sweep_done;

static void *worker(void *arg) {
  long me = (long)arg, inner = size - 2;
  long first = 1 + inner * me / threads, last = 1 + inner * (me + 1) / threads;
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    const float *restrict old = grids[sweep % 2];
    float *restrict new = grids[1 - sweep % 2];
    for (long y = first; y < last; ++y)
      for (long x = 1; x < size - 1; ++x) {
        long i = y * size + x;
        new[i] = 0.25f * (old[i - 1] + old[i + 1] + old[i - size] + old[i + size]);
      }
    pthread_barrier_wait(&sweep_done.barrier);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 1024);
  for (int g = 0; g < 2; ++g) {
    grids[g] = allocate(size * size, sizeof *grids[g]);
    for (long i = 0; i < size; ++i)
      grids[g][i] = grids[g][i * size] = (float)(i % 100);
  }
  pthread_barrier_init(&sweep_done.barrier, NULL, threads);
  run_threads(worker);
  pthread_barrier_destroy(&sweep_done.barrier);
  double sum = 0;
  for (long i = 0; i < size * size; ++i)
    sum += grids[SWEEPS % 2][i];
  printf("stencil %ld: %.3f\n", size, sum);
  return 0;
}
