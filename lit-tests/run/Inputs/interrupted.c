// A signal handler without SA_RESTART: semaphore waits end with EINTR, or find what the handler posted, by chance. The
// first signal comes when the thread has begun: before that, where it finds the thread has no place in a schedule.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SIGNALS = 6 };

static sem_t posted, answered;
static char results[4 * SIGNALS + 1];

static void handler(int signal) {
  (void)signal;
  sem_post(&posted);
}

static void *worker(void *arg) {
  sem_post(&answered);
  for (int i = 0; i < SIGNALS; ++i) {
    while (sem_wait(&posted) == -1 && errno == EINTR)
      strcat(results, "i");
    strcat(results, "p");
    sem_post(&answered);
  }
  return arg;
}

int main(void) {
  pthread_t thread;
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  sem_init(&posted, 0, 0);
  sem_init(&answered, 0, 0);
  pthread_create(&thread, NULL, worker, NULL);
  sem_wait(&answered);
  for (int i = 0; i < SIGNALS; ++i) {
    usleep(i % 2 ? 0 : 500);
    pthread_kill(thread, SIGUSR1);
    while (sem_wait(&answered) != 0)
      ;
  }
  pthread_join(thread, NULL);
  puts(results);
  return 0;
}
