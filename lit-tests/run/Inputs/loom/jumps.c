// A region that is left by longjmp, in a line that has something else too, to a function that goes round its setjmp: that has no slots, so
// that the region ends before the jump. Failures: two in the region at once.
#include "race.h"
#include <setjmp.h>

static int in_region;
static __thread jmp_buf back;
static __thread volatile int jumps;

__attribute__((noinline)) static void maybe_jump(void) {
  if (jumps) { __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST); longjmp(back, 1); }
}

__attribute__((noinline)) static void through(void) {
  maybe_jump();
  operation();
}

__attribute__((noinline)) static void region(void) {
  if (__atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST))
    failure();
  delay();
  through();
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST);
  operation();
}

static void *worker(void *argument) {
  jumps = argument == NULL;
  while (running()) {
    if (setjmp(back) == 0)
      region();
    operation();
    if (jumps)
      for (int i = 0; i < 3; ++i)
        usleep(1000);
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 3);
  pthread_t ids[MAX_THREADS];
  for (long i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
