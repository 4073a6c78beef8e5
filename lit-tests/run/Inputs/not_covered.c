// Where a specialized program leaves its schedule: the process says so once and ends, whoever it is. The argument says who:
// main, a worker, all (many threads at once), handler (a signal handler inside of printf), locked (main holds locks).
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void covsched_not_covered(unsigned long expected, const char *text, int thread) __attribute__((noreturn));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void never(void) { puts("an exit handler ran"); }

static void leave(int thread) { covsched_not_covered(7, "pthread_mutex_lock at a.c:12 (worker)", thread); }

static void handle(int signal) {
  (void)signal;
  leave(0);
}

static void *worker(void *number) {
  leave((int)(long)number);
  return 0;
}

int main(int count, char **arguments) {
  const char *who = count > 1 ? arguments[1] : "main";
  atexit(never);
  printf("not to be seen");
  if (strcmp(who, "worker") == 0 || strcmp(who, "all") == 0) {
    pthread_t threads[8];
    int number = strcmp(who, "all") == 0 ? 8 : 1;
    for (int i = 0; i < number; i++)
      pthread_create(&threads[i], 0, worker, (void *)(long)(i + 1));
    for (int i = 0; i < number; i++)
      pthread_join(threads[i], 0);
  } else if (strcmp(who, "handler") == 0) {
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
  } else if (strcmp(who, "locked") == 0) {
    pthread_mutex_lock(&lock);
    flockfile(stdout);
    flockfile(stderr);
  }
  leave(-1);
}
