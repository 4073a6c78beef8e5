// Signals arrive all the time, in running code and in calls that block; the handlers are code with loops and calls of their own,
// and leave errno as it was. Failures: a broken invariant of the interrupted code, or two in the region at once.
#include "race.h"
#include <errno.h>
#include <sys/time.h>

static int in_region;
static uint64_t handled;
static volatile unsigned noise;

__attribute__((noinline)) static void work(unsigned times) {
  for (unsigned i = 0; i < times; ++i)
    noise = noise * 31 + i;
}

static void on_signal(int number) {
  int before = errno;
  work((unsigned)number * 10);
  if (write(-1, "", 1) == 0) // fails, and may block for all that the compiler knows
    failure();
  add(&handled, 1);
  errno = before;
}

__attribute__((noinline)) static void region(void) {
  int others = __atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST); // [enter]
  if (others)
    failure();
  work(200);
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST); // [leave]
}

static void *worker(void *argument) {
  while (running()) {
    errno = 99;
    work(1000);
    if (errno != 99)
      failure();
    region();
    operation();
    usleep(50);
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 0, 4);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  must(sigaction(SIGPROF, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
  struct itimerval every = {{0, 1000}, {0, 1000}};
  must(setitimer(ITIMER_PROF, &every, NULL) == 0, "setitimer");
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  while (running())
    for (int i = 0; i < threads; ++i) {
      pthread_kill(ids[i], SIGUSR1);
      usleep(300);
    }
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  counters->more[0] = handled;
  return finish();
}
