// An n-body step with a lock per body: the threads split the pairs, and each pair's forces are added to both
// bodies under their locks, a row's own sum once. Forces are fixed-point integers, so that the order of the
// additions does not show in the result. SIZE is the number of bodies.
#include "bench.h"
#include <math.h>

enum { STEPS = 4, CHUNK = 16 };

struct body {
  pthread_mutex_t lock;
  double x[3], v[3];
  int64_t force[3];
};

static struct body *bodies;
static pthread_barrier_t phase_done;

static void add_force(struct body *body, const int64_t force[3], int sign) {
  pthread_mutex_lock(&body->lock);
  for (int d = 0; d < 3; ++d)
    body->force[d] += sign * force[d];
  pthread_mutex_unlock(&body->lock);
}

// The forces between body i and a chunk of bodies after it.
static void interact(long i, long first, long last) {
  int64_t own[3] = {0};
  for (long j = first; j < last; ++j) {
    double delta[3], square = 0.01;
    for (int d = 0; d < 3; ++d) {
      delta[d] = bodies[j].x[d] - bodies[i].x[d];
      square += delta[d] * delta[d];
    }
    double scale = 1e9 / (square * sqrt(square));
    int64_t force[3];
    for (int d = 0; d < 3; ++d)
      own[d] += force[d] = (int64_t)(delta[d] * scale);
    add_force(&bodies[j], force, -1);
  }
  add_force(&bodies[i], own, 1);
}

static void *worker(void *arg) {
  long me = (long)arg;
  for (int step = 0; step < STEPS; ++step) {
    for (long i = me; i < size; i += threads)
      for (long first = i + 1; first < size; first += CHUNK)
        interact(i, first, first + CHUNK < size ? first + CHUNK : size);
    pthread_barrier_wait(&phase_done);
    for (long i = me; i < size; i += threads)
      for (int d = 0; d < 3; ++d) {
        bodies[i].v[d] += (double)bodies[i].force[d] * 1e-15;
        bodies[i].x[d] += bodies[i].v[d];
        bodies[i].force[d] = 0;
      }
    pthread_barrier_wait(&phase_done);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 3000);
  bodies = allocate(size, sizeof *bodies);
  uint64_t seed = 1;
  for (long i = 0; i < size; ++i) {
    pthread_mutex_init(&bodies[i].lock, NULL);
    for (int d = 0; d < 3; ++d)
      bodies[i].x[d] = (double)(next_random(&seed) % 100000) / 1000;
  }
  pthread_barrier_init(&phase_done, NULL, threads);
  run_threads(worker);
  pthread_barrier_destroy(&phase_done);
  double sum = 0;
  for (long i = 0; i < size; ++i) {
    sum += bodies[i].x[0] + 2 * bodies[i].x[1] + 3 * bodies[i].x[2];
    pthread_mutex_destroy(&bodies[i].lock);
  }
  printf("nbody %ld: %.6f\n", size, sum);
  return 0;
}
