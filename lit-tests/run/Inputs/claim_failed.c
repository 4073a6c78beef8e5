// A value that is not what its specialization claimed: the process says so once and ends. The argument says who: main,
// worker, handler (a signal handler), all (many threads at once).
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void covsched_claim_failed(unsigned long seen, unsigned long claimed, const char *text) __attribute__((noreturn));

static void never(void) { puts("an exit handler ran"); }

static void fail(void) { covsched_claim_failed(0, 18446744073709551615ul, "the value of i at a.c:12 (worker)"); }

static void handle(int signal) {
  (void)signal;
  fail();
}

static void *worker(void *unused) {
  fail();
  return unused;
}

int main(int count, char **arguments) {
  const char *who = count > 1 ? arguments[1] : "main";
  atexit(never);
  printf("not to be seen");
  if (strcmp(who, "worker") == 0 || strcmp(who, "all") == 0) {
    pthread_t threads[8];
    int number = strcmp(who, "all") == 0 ? 8 : 1;
    for (int i = 0; i < number; i++)
      pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < number; i++)
      pthread_join(threads[i], 0);
  } else if (strcmp(who, "handler") == 0) {
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
  }
  fail();
}
