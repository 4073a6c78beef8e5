// Threads come and go all the time, detached and joined, by return, pthread_exit and cancellation; what they do is in the
// filter's region. Failures: two in the region at once.
#include "race.h"

static int in_region;

__attribute__((noinline)) static void region(void) {
  int others = __atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST); // [enter]
  if (others)
    failure();
  delay();
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST); // [leave]
}

static void *short_lived(void *argument) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  region();
  operation();
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  if ((long)argument % 3 == 0)
    pthread_exit(NULL);
  if ((long)argument % 3 == 1)
    for (;;)
      usleep(1000);
  return NULL;
}

static void *creator(void *argument) {
  for (long i = (long)argument; running(); ++i) {
    pthread_t thread = start(short_lived, i);
    if (i % 3 == 1)
      pthread_cancel(thread);
    join(thread);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 8);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(creator, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
