// An exception passes the region. A thread that an update makes pause where the exception lands, in the midst of the region, is still
// inside. Failures: two in the region at once.
#include "race.h"

static int in_region;

struct Inside {
  Inside() {
    if (__atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST))
      failure();
  }
  ~Inside() { __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST); }
};

__attribute__((noinline)) static void maybe_throw(long way) {
  if (way)
    throw way;
  operation();
}

__attribute__((noinline)) static void region(long way) {
  Inside inside;
  delay();
  maybe_throw(way);
}

static void *worker(void *argument) {
  for (long n = 0; running(); ++n) {
    try {
      region(n % 2);
    } catch (long) {
      operation();
    }
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
