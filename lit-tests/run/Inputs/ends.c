// Ends in the middle of things, as its argument says. By then a worker has done five rounds and waits.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t reached, never;

static void *worker(void *arg) {
  for (int i = 0; i < 5; ++i) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
  sem_post(&reached);
  sem_wait(&never);
  return arg;
}

int main(int argc, char *argv[]) {
  pthread_t thread;
  const char *how = argc > 1 ? argv[1] : "";
  sem_init(&reached, 0, 0);
  sem_init(&never, 0, 0);
  pthread_create(&thread, NULL, worker, NULL);
  sem_wait(&reached);
  if (strcmp(how, "kill") == 0)
    kill(getpid(), SIGKILL);
  if (strcmp(how, "abort") == 0)
    abort();
  if (strcmp(how, "segfault") == 0)
    *(volatile int *)8 = 1;
  if (strcmp(how, "terminate") == 0)
    raise(SIGTERM);
  if (strcmp(how, "_exit") == 0)
    _exit(9);
  if (strcmp(how, "exec") == 0)
    execl("/bin/echo", "echo", "another program", (char *)NULL);
  if (strcmp(how, "exec-again") == 0)
    execl(argv[0], argv[0], "_exit", (char *)NULL);
  return 1;
}
