// As signals.c, but the handler is defined in another unit than the one that installs it (foreign_handler_unit.c): its unit sees nothing
// but a function of that type. It comes to places where a thread can pause, while the region that it interrupted is not left.
// Failures: two in the region at once.
#include "race.h"

void on_signal(int number);

static int in_region;
static volatile unsigned noise;

__attribute__((noinline)) static void spin(void) {
  for (unsigned i = 0; i < 20000; ++i)
    noise = noise * 31 + i;
}

__attribute__((noinline)) static void region(void) {
  if (__atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST)) // [enter]
    failure();
  spin();
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST); // [leave]
}

static void *worker(void *argument) {
  while (running()) {
    region();
    operation();
    usleep(100);
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 0, 4);
  must(signal(SIGUSR1, on_signal) != SIG_ERR, "signal");
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  while (running())
    for (int i = 0; i < threads; ++i) {
      pthread_kill(ids[i], SIGUSR1);
      usleep(100);
    }
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
