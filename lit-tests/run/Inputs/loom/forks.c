// A threaded program that forks all the time; each child goes through the region some times, with a thread of its own.
// Failures: children that do not end as they should. The region's counter is the process's own.
#include "race.h"
#include <errno.h>
#include <sys/wait.h>

static int in_region;

__attribute__((noinline)) static void region(void) {
  __atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST); // [enter]
  delay();
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST); // [leave]
}

static void *twice(void *argument) {
  region();
  region();
  return argument;
}

static void *forker(void *argument) {
  while (running()) {
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
      alarm(20);
      signal(SIGALRM, SIG_DFL); // a child that hangs is killed
      pthread_t thread = start(twice, 0);
      twice(NULL);
      join(thread);
      _exit(7);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
      must(errno == EINTR, "waitpid");
    operation();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
      failure();
  }
  return argument;
}

static void *worker(void *argument) {
  while (running())
    region();
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 4);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(i < 2 ? forker : worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
