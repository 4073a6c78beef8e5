// A mutex of the program is held across calls that block, inside of the region that a filter is about and outside of it. A thread
// that pauses with the mutex, for an update, keeps those out of it that must leave the region first.
//
// MICROSECONDS: how long a thread has the mutex. Failures: two threads inside of the region at once.
//
// With -DNESTED, another mutex is taken and given back meanwhile.
#include "race.h"

static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;
static int inside;

#ifdef NESTED
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static long length;

__attribute__((noinline)) static void note(void) {
  pthread_mutex_lock(&list);
  ++length;
  pthread_mutex_unlock(&list);
}
#else
static void note(void) {}
#endif

// The device, for those outside and for those inside: a function that both call would be unsafe for both.
__attribute__((noinline)) static void use_outside(void) {
  pthread_mutex_lock(&device);
  note();
  delay();
  delay();
  pthread_mutex_unlock(&device);
}

__attribute__((noinline)) static void use_inside(void) {
  pthread_mutex_lock(&device);
  note();
  delay();
  operation();
  delay();
  pthread_mutex_unlock(&device);
}

__attribute__((noinline)) static void enter(void) {
  if (__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) > 1)
    failure();
}

__attribute__((noinline)) static void leave(void) { __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED); }

static void *work(void *argument) {
  while (running()) {
    use_outside();
    enter(); // [enter]
    use_inside();
    leave(); // [leave]
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 200, 16);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(work, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
