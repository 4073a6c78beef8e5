// The shared object of unloads.c.
#include "race.h"

static int users;

__attribute__((noinline)) static int enters(void) { return __atomic_add_fetch(&users, 1, __ATOMIC_RELAXED); }

void part(struct counters *shared) {
  int now = enters(); // [enter-part]
  if (now > 1)
    add(&shared->failures, 1);
  usleep(100);
  __atomic_sub_fetch(&users, 1, __ATOMIC_RELAXED); // [leave-part]
}
