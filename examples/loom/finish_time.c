// SPLASH2-fft: the main thread prints when initialization was done and when the transform was finished, and a worker notes
// these times only after it has said that it is done.
//
// In rounds: a small transform, whose times main reads. Failures: times that are not there yet.
//
// Filters: finish_time.order (each time is assigned before it is read), .order_counted (the same with counts).
#include "race.h"
#include <semaphore.h>
#include <time.h>

enum { POINTS = 64 };

static struct {
  sem_t initialized, transformed;
  volatile uint64_t initdonetime, finishtime;
  double points[POINTS];
} Global;

static uint64_t clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Sums and differences of pairs at each distance: a transform that is its own inverse, but for a factor.
static void transform(double *points) {
  for (int distance = 1; distance < POINTS; distance *= 2)
    for (int i = 0; i < POINTS; ++i)
      if (!(i & distance)) {
        double a = points[i], b = points[i + distance];
        points[i] = a + b;
        points[i + distance] = a - b;
      }
}

static void *SlaveStart(void *argument) {
  for (int i = 0; i < POINTS; ++i)
    Global.points[i] = i;
  sem_post(&Global.initialized);
  delay();
  Global.initdonetime = clock_now(); // [assign-init]
  transform(Global.points);
  transform(Global.points);
  sem_post(&Global.transformed);
  delay();
  Global.finishtime = clock_now(); // [assign-finish]
  return argument;
}

__attribute__((noinline)) static void run_round(void) {
  Global.initdonetime = Global.finishtime = 0;
  pthread_t slave = start(SlaveStart, 0);
  sem_wait(&Global.initialized);
  uint64_t initdonetime = Global.initdonetime; // [read-init]
  sem_wait(&Global.transformed);
  uint64_t finishtime = Global.finishtime; // [read-finish]
  operation();
  if (initdonetime == 0 || finishtime < initdonetime)
    failure();
  join(slave);
  for (int i = 0; i < POINTS; ++i)
    must(Global.points[i] == (double)i * POINTS, "the transform is wrong");
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 500, 1);
  sem_init(&Global.initialized, 0, 0);
  sem_init(&Global.transformed, 0, 0);
  while (running())
    run_round();
  return finish();
}
