// fork in a threaded program: the child has one thread, makes another, and records to a file of its own;
// the parent's threads go on.
//
//   covsched cc -O2 -pthread fork_threaded.c -o fork_threaded
//   covsched record -o fork.sched -- ./fork_threaded && covsched show fork.sched
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *worker(void *arg) {
  for (int i = 0; i < 5; ++i) {
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x10
    count++;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x10
  }
  return arg;
}

static void *child_worker(void *arg) {
  pthread_mutex_lock(&lock); // CHILD: pthread_mutex_lock x1
  count = 100;
  pthread_mutex_unlock(&lock); // CHILD: pthread_mutex_unlock x1
  return arg;
}

static void run_child(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, child_worker, NULL); // CHILD: pthread_create x1
  pthread_join(thread, NULL);                        // CHILD: pthread_join x1
  exit(count == 100 ? 42 : 1);                       // CHILD: exit x1 = 42
}

int main(void) {
  pthread_t threads[2];
  int status;
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, worker, NULL); // SCHED: pthread_create x2
  // Held over the fork, so that the child gets the mutex unlocked by its own thread.
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  pid_t child = fork();
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1 CHILD: pthread_mutex_unlock x1
  if (child == 0)
    run_child();
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x2
  waitpid(child, &status, 0);
  printf("count %d, child %d\n", count, WEXITSTATUS(status));
  return 0;
}
