// Signal handlers jump out of the region that they interrupted (siglongjmp), to a function without slots; their threads then do
// something else for a while, so that nothing but the jump can end the region. Failures: two in the region at once.
#include "race.h"
#include <setjmp.h>

static int in_region;
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t armed;

static void leave_region(void) {
  armed = 0;
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST);
}

static void on_signal(int number) {
  if (armed) { leave_region(); siglongjmp(back, number); }
}

__attribute__((noinline)) static void region(void) {
  if (__atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST))
    failure();
  armed = 1;
  for (int i = 0; i < 20; ++i)
    delay();
  leave_region();
}

static void *worker(void *argument) {
  while (running()) {
    if (sigsetjmp(back, 1) == 0)
      region();
    else
      for (int i = 0; i < 3; ++i)
        usleep(1000);
    operation();
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 3);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  while (running())
    for (int i = 0; i < threads; ++i) {
      pthread_kill(ids[i], SIGUSR1);
      usleep(700);
    }
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
