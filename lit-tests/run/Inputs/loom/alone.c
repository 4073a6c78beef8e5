// Two regions that overlap, in which a thread runs alone under two filters. It blocks there while it has a lock that nobody else wants, and
// forks; the others have another lock most of the time, and change what it looks at.
//
// MICROSECONDS: how long the others have the lock. Failures: something changed while a thread was in the second region.
#include "race.h"
#include <errno.h>
#include <sys/wait.h>

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, list = PTHREAD_MUTEX_INITIALIZER;
static long length;
static int is_child;
static pthread_t helper;

static void *lengthen(void *argument) {
  __atomic_fetch_add(&length, 1, __ATOMIC_SEQ_CST);
  return argument;
}

// Longer than one that may hold a lock is kept waiting when its lock is wanted.
__attribute__((noinline)) static void must_be_alone(void) {
  long before = __atomic_load_n(&length, __ATOMIC_SEQ_CST);
  usleep(4000);
  if (__atomic_load_n(&length, __ATOMIC_SEQ_CST) != before)
    failure();
}

__attribute__((noinline)) static void be_alone_with_lock(void) {
  pthread_mutex_lock(&own);
  must_be_alone();
  pthread_mutex_unlock(&own);
}

// The child goes on in the region, alone too.
__attribute__((noinline)) static void be_alone_in_child(void) {
  pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    is_child = 1;
    signal(SIGALRM, SIG_DFL); // one that hangs is killed
    alarm(20);
    helper = start(lengthen, 0);
    must_be_alone();
    return;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    must(errno == EINTR, "waitpid");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
    failure();
}

__attribute__((noinline)) static void begins(void) { __asm__ volatile(""); }

__attribute__((noinline)) static void ends(void) { operation(); }

static void *work(void *argument) {
  while (running()) {
    begins(); // [first]
    begins(); // [second]
    be_alone_with_lock();
    ends(); // [first-end]
    be_alone_with_lock();
    be_alone_in_child();
    ends(); // [second-end]
    if (is_child) {
      join(helper);
      _exit(7);
    }
    delay();
  }
  return argument;
}

static void *change(void *argument) {
  while (running()) {
    pthread_mutex_lock(&list);
    delay();
    lengthen(NULL);
    delay();
    pthread_mutex_unlock(&list);
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 4);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(i % 2 == 0 ? work : change, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
