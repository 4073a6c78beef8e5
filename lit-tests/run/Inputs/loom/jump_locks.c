// Signal handlers jump away (siglongjmp) from where their threads pause, in a loop, while another thread runs alone. Later these run alone
// themselves, and need a mutex that others have. Failures: two in the region at once.
#include "race.h"
#include <setjmp.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int in_region;
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t armed;

static void on_signal(int number) {
  if (armed) {
    armed = 0;
    siglongjmp(back, number);
  }
}

__attribute__((noinline)) static void use(void) {
  pthread_mutex_lock(&lock);
  delay();
  pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void region(void) {
  if (__atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST))
    failure();
  use();
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST);
}

__attribute__((noinline)) static void compute(void) {
  for (long i = 0; i < 1000000; ++i)
    __asm__ volatile("" ::: "memory");
}

static void *worker(void *argument) {
  while (running()) {
    if (sigsetjmp(back, 1) == 0) {
      armed = 1;
      compute();
      armed = 0;
    }
    region();
    operation();
  }
  return argument;
}

static void *holder(void *argument) {
  while (running()) {
    use();
    compute();
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 4);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(i % 2 == 0 ? worker : holder, i);
  while (running())
    for (int i = 0; i < threads; i += 2) {
      pthread_kill(ids[i], SIGUSR1);
      usleep(300);
    }
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
