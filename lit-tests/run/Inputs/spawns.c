// Starts another program that covsched compiled too, and itself in another way: fork and exec.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char *argv[]) {
  int status = 0;
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  if (fork() == 0) {
    execv(argv[argc - 1], &argv[argc - 1]);
    _exit(3);
  }
  wait(&status);
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  printf("child %d\n", WEXITSTATUS(status));
  return 0;
}
