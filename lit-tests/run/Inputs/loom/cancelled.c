// Threads are cancelled wherever they are, in the runtime too: who comes next must find the region free. Failures: another one changed
// what a thread had just read.
#include "race.h"

static volatile long count;
static volatile unsigned noise;

__attribute__((noinline)) static void region(void) {
  long before = count;
  for (unsigned i = 0; i < 3000; ++i)
    noise = noise * 31 + i;
  if (count != before)
    failure();
  count = before + 1;
}

static void *victim(void *argument) {
  (void)argument;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;)
    region();
}

static void *worker(void *argument) {
  while (running()) {
    if ((long)argument % 2) {
      pthread_t thread = start(victim, 0);
      usleep(1000);
      pthread_cancel(thread);
      join(thread);
    } else {
      region();
    }
    operation();
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 0, 4);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
