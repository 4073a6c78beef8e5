// A program whose racy code is elsewhere: in another file of it, or, with OPENED, in a shared object that is loaded when
// threads are running already: PROGRAM SECONDS MICROSECONDS COUNTERS THREADS OBJECT.
#include "../../../../../examples/loom/race.h"
#include "part.h"
#include <dlfcn.h>

typedef int step_function(struct record *, long, void (*)(void));
static step_function *step;
static struct record records[2];

static void *worker(void *argument) {
  long me = (long)argument;
  while (running()) {
    step_function *now = __atomic_load_n(&step, __ATOMIC_ACQUIRE);
    if (!now) {
      usleep(1000);
      continue;
    }
#ifndef OPENED
    now = part_step;
#endif
    if (now(&records[me % 2], me, delay))
      failure();
    operation();
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 4);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  usleep(100000);
#ifdef OPENED
  void *object = dlopen(argv[5], RTLD_NOW);
  must(object != NULL, argv[5]);
  __atomic_store_n(&step, (step_function *)dlsym(object, "part_step"), __ATOMIC_RELEASE);
#else
  __atomic_store_n(&step, part_step, __ATOMIC_RELEASE);
#endif
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
