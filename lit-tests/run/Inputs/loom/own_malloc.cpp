// A `malloc` of the program's own: constructors of libraries call it before the program's units are known. Failures: two in the region at once.
#include "race.h"

extern "C" void *__libc_malloc(size_t);
extern "C" void __libc_free(void *);

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;
static int in_region;

extern "C" __attribute__((noinline)) void *malloc(size_t size) {
  pthread_mutex_lock(&heap);
  void *found = __libc_malloc(size);
  pthread_mutex_unlock(&heap);
  return found;
}

extern "C" __attribute__((noinline)) void free(void *given) {
  pthread_mutex_lock(&heap);
  __libc_free(given);
  pthread_mutex_unlock(&heap);
}

__attribute__((noinline)) static void region() {
  if (__atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST))
    failure();
  void *mine = malloc(32);
  kept = mine;
  delay();
  free(mine);
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST);
}

static void *worker(void *argument) {
  while (running()) {
    region();
    operation();
  }
  return argument;
}

int main(int argc, char *argv[]) {
  // The C++ library is needed: its constructor takes memory.
  delete new int(argc);
  begin(argc, argv, 100, 4);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
