// Signal handlers go through the region too, and interrupt whatever the thread does: its work, the region, and the runtime in the midst of
// taking or giving back the region's lock, or waiting for it. Failures: two threads in the region at once.
#include "race.h"

enum { STACK = 1 << 16 };

static int in_region;
static char stacks[MAX_THREADS][STACK];
// Of the thread: a handler may come while it is inside.
static __thread volatile int depth;

__attribute__((noinline)) static void region(void) {
  if (depth++ == 0 && __atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST))
    failure();
  delay();
  if (--depth == 0)
    __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST);
}

static void on_signal(int number) {
  (void)number;
  region();
}

static void *worker(void *argument) {
  // Every other one on a stack of its own.
  stack_t own = {.ss_sp = stacks[(long)argument], .ss_size = STACK};
  must((long)argument % 2 || sigaltstack(&own, NULL) == 0, "sigaltstack");
  while (running()) {
    region();
    operation();
    usleep(20);
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 4);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  while (running())
    for (int i = 0; i < threads; ++i) {
      pthread_kill(ids[i], SIGUSR1);
      usleep(500);
    }
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
