// An n-body step with a lock per body: a thread takes rows of pairs, sums up their forces in private, and adds
// the sums to the bodies under their locks. Forces are fixed-point integers, so that the order of the additions
// does not show in the result. SIZE is the number of bodies.
#include "bench.h"
#include <math.h>

enum { STEPS = 4, ROWS = 128 };

struct body {
  pthread_mutex_t lock;
  double x[3], v[3];
  int64_t force[3];
};

static struct body *bodies;
static struct OWN_LINES {
  pthread_barrier_t barrier;
} phase_done;

typedef int64_t force[3];

static void interact(long i, long j, force *sums) {
  double delta[3], square = 0.01;
  for (int d = 0; d < 3; ++d) {
    delta[d] = bodies[j].x[d] - bodies[i].x[d];
    square += delta[d] * delta[d];
  }
  double scale = 1e9 / (square * sqrt(square));
  for (int d = 0; d < 3; ++d) {
    int64_t force = (int64_t)(delta[d] * scale);
    sums[i][d] += force;
    sums[j][d] -= force;
  }
}

// The forces between the bodies from `first` to `last` and all after them; `sums` is zero before and after.
static void add_rows(long first, long last, force *sums) {
  for (long i = first; i < last; ++i)
    for (long j = i + 1; j < size; ++j)
      interact(i, j, sums);
  for (long j = first; j < size; ++j) {
    pthread_mutex_lock(&bodies[j].lock); // [often]
    for (int d = 0; d < 3; ++d)
      bodies[j].force[d] += sums[j][d];
    pthread_mutex_unlock(&bodies[j].lock);
    sums[j][0] = sums[j][1] = sums[j][2] = 0;
  }
}

static void *worker(void *arg) {
  long me = (long)arg;
  force *sums = allocate(size, sizeof *sums);
  for (int step = 0; step < STEPS; ++step) {
    for (long first = me * ROWS; first < size; first += threads * ROWS)
      add_rows(first, first + ROWS < size ? first + ROWS : size, sums);
    pthread_barrier_wait(&phase_done.barrier);
    for (long i = me; i < size; i += threads)
      for (int d = 0; d < 3; ++d) {
        bodies[i].v[d] += (double)bodies[i].force[d] * 1e-15;
        bodies[i].x[d] += bodies[i].v[d];
        bodies[i].force[d] = 0;
      }
    pthread_barrier_wait(&phase_done.barrier);
  }
  free(sums); // [rare]
  return NULL;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 7000);
  bodies = allocate(size, sizeof *bodies);
  uint64_t seed = 1;
  for (long i = 0; i < size; ++i) {
    pthread_mutex_init(&bodies[i].lock, NULL);
    for (int d = 0; d < 3; ++d)
      bodies[i].x[d] = (double)(next_random(&seed) % 100000) / 1000;
  }
  pthread_barrier_init(&phase_done.barrier, NULL, threads);
  run_threads(worker);
  pthread_barrier_destroy(&phase_done.barrier);
  double sum = 0;
  for (long i = 0; i < size; ++i) {
    sum += bodies[i].x[0] + 2 * bodies[i].x[1] + 3 * bodies[i].x[2];
    pthread_mutex_destroy(&bodies[i].lock);
  }
  printf("nbody %ld: %.6f\n", size, sum);
  return 0;
}
