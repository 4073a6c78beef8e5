// Apache-21287 (mod_mem_cache): who gives up an object decrements its reference count, then looks whether it is 0. Each step is
// atomic, both together are not: two threads that decrement first and look then both see 0, and both free the object.
//
// Pairs of threads share an object in each round and both give it up. Failures: objects that were freed twice (here they
// are only marked).
//
// Filters: reference_count.mutual (one thread at a time from the decrement to the look), .mutual_object (for each object),
// .function (the whole function excludes itself), .unilateral (alone from the one to the other); .force (both decrements come before
// the first look).
#include "race.h"

enum { PAUSE = 300 };

struct object {
  int refcount, frees;
  pthread_barrier_t together;
};

static struct object objects[MAX_THREADS / 2];

static void cleanup(struct object *object) { __atomic_add_fetch(&object->frees, 1, __ATOMIC_SEQ_CST); }

__attribute__((noinline)) static void decrement_refcount(struct object *object) {
  __atomic_sub_fetch(&object->refcount, 1, __ATOMIC_SEQ_CST); // [decrement]
  delay();
  int left = __atomic_load_n(&object->refcount, __ATOMIC_SEQ_CST); // [look]
  if (left == 0)
    cleanup(object);
}

static void *holder(void *argument) {
  struct object *object = &objects[(long)argument / 2];
  for (int is_last = 0; !is_last;) {
    // One of the two prepares the object and says whether this is the last round.
    if (pthread_barrier_wait(&object->together) == PTHREAD_BARRIER_SERIAL_THREAD) {
      object->refcount = running() ? 2 : 0;
      object->frees = 0;
    }
    pthread_barrier_wait(&object->together);
    is_last = object->refcount == 0;
    pthread_barrier_wait(&object->together);
    if (!is_last)
      decrement_refcount(object);
    if (pthread_barrier_wait(&object->together) == PTHREAD_BARRIER_SERIAL_THREAD && !is_last) {
      operation();
      if (object->frees != 1)
        failure();
      usleep(PAUSE);
    }
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 300, 4);
  threads += threads % 2;
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i) {
    if (i % 2 == 0)
      pthread_barrier_init(&objects[i / 2].together, NULL, 2);
    ids[i] = start(holder, i);
  }
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
