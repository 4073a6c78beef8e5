// A region that is left in every way there is: by its end, an early return, an exception, longjmp, thread exit, cancellation. Who comes
// next must find it free. Failures: two in the region at once.
#include "race.h"
#include <csetjmp>

static int in_region;

struct Inside {
  Inside() {
    if (__atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST))
      failure();
  }
  ~Inside() { __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST); }
};

static thread_local jmp_buf back;

__attribute__((noinline)) static void region(long way) {
  {
    Inside inside;
    delay();
    if (way == 0)
      return;
    if (way == 1)
      throw way;
    if (way == 3)
      pthread_exit(NULL);
    if (way == 4) {
      pthread_cancel(pthread_self());
      pthread_testcancel();
    }
  }
  operation();
}

__attribute__((noinline)) static void jump_out(long way) {
  if (__atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST))
    failure();
  delay();
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST);
  if (way == 5)
    longjmp(back, 1);
}

__attribute__((noinline)) static void jump(long way) {
  if (setjmp(back) == 0)
    jump_out(way);
  operation();
}

static void *leave(void *argument) {
  long way = (long)argument;
  try {
    if (way >= 5)
      jump(way);
    else
      region(way);
  } catch (long) {
    operation();
  }
  return NULL;
}

static void *creator(void *argument) {
  for (long way = (long)argument; running(); ++way) {
    join(start(leave, way % 7));
    leave((void *)(way % 3));
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 4);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(creator, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
