// A thread that stays in the region: it waits there for a line on a pipe that nobody writes to until SIGUSR1 comes.
#include "race.h"

static int ends[2];
static volatile long shared;

__attribute__((noinline)) static void wait_inside(void) {
  char byte;
  shared++; // [enter]
  must(read(ends[0], &byte, 1) == 1, "read"); // [stuck]
  shared++; // [leave]
}

static void *waiter(void *argument) {
  wait_inside();
  return argument;
}

static void *worker(void *argument) {
  while (running()) {
    operation();
    usleep(200);
  }
  return argument;
}

static void let_go(int number) {
  (void)number;
  must(write(ends[1], "", 1) == 1, "write");
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 0, 4);
  must(pipe(ends) == 0, "pipe");
  signal(SIGUSR1, let_go);
  pthread_t ids[MAX_THREADS], waiting = start(waiter, 0);
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  let_go(0);
  join(waiting);
  return finish();
}
