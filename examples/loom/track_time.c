// SPLASH2-barnes: process 0 adds up in tracktime how long each step took; the one that prints statistics reads it as soon as the
// bodies have moved.
//
// In rounds: bodies on a line move some steps, then thread 0 assigns tracktime and main prints. Failures: tracktime that is not
// there yet.
//
// Filters: track_time.order (tracktime is assigned before it is read), .order_all (and the bodies have moved in all threads
// before); .force (the read comes first).
#include "race.h"

enum { BODIES = 32, STEPS = 4, WORKERS = 2 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t moved;
  int done;
  volatile uint64_t tracktime;
  long position[BODIES], speed[BODIES];
} Global;

static void stepsystem(long worker) {
  for (int step = 0; step < STEPS; ++step)
    for (long body = worker; body < BODIES; body += WORKERS)
      Global.position[body] += Global.speed[body];
}

static void *SlaveStart(void *argument) {
  long worker = (long)argument;
  stepsystem(worker);
  pthread_mutex_lock(&Global.lock);
  Global.done++; // [moved]
  pthread_cond_signal(&Global.moved);
  pthread_mutex_unlock(&Global.lock);
  if (worker == 0) {
    delay();
    Global.tracktime = STEPS; // [assign]
  }
  return NULL;
}

__attribute__((noinline)) static void run_round(void) {
  pthread_t ids[WORKERS];
  Global.done = 0;
  Global.tracktime = 0;
  for (long body = 0; body < BODIES; ++body) {
    Global.position[body] = 0;
    Global.speed[body] = body;
  }
  for (long i = 0; i < WORKERS; ++i)
    ids[i] = start(SlaveStart, i);
  pthread_mutex_lock(&Global.lock);
  while (Global.done < WORKERS)
    pthread_cond_wait(&Global.moved, &Global.lock);
  pthread_mutex_unlock(&Global.lock);
  uint64_t tracktime = Global.tracktime; // [read]
  operation();
  if (tracktime == 0)
    failure();
  for (int i = 0; i < WORKERS; ++i)
    join(ids[i]);
  for (long body = 0; body < BODIES; ++body)
    must(Global.position[body] == STEPS * body, "the bodies are wrong");
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 500, WORKERS);
  pthread_mutex_init(&Global.lock, NULL);
  pthread_cond_init(&Global.moved, NULL);
  while (running())
    run_round();
  return finish();
}
