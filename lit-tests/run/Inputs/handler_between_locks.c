// A signal handler that posts while the thread that it interrupts may be in any hook, in a lock or between two.
// How many rounds the worker does, and where the signals find it, is not synchronized: such a run can be
// recorded, but its schedule is not one that another run must be able to follow.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { SIGNALS = 5 };

static sem_t handled, started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t finish;
static long rounds;

static void handler(int signal) {
  (void)signal;
  sem_post(&handled); // SCHED: sem_post x5
}

static void *worker(void *arg) {
  sem_post(&started); // SCHED: sem_post x1
  while (!finish) {
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x0+
    rounds++;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x0+
    usleep(50);
  }
  return arg;
}

int main(void) {
  pthread_t thread;
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  sem_init(&handled, 0, 0);                    // SCHED: sem_init x1
  sem_init(&started, 0, 0);                    // SCHED: sem_init x1
  pthread_create(&thread, NULL, worker, NULL); // SCHED: pthread_create x1
  sem_wait(&started);                          // SCHED: sem_wait x1
  for (int i = 0; i < SIGNALS; ++i) {
    pthread_kill(thread, SIGUSR1); // SCHED: pthread_kill x5
    sem_wait(&handled);            // SCHED: sem_wait x5
  }
  finish = 1;
  pthread_join(thread, NULL); // SCHED: pthread_join x1
  printf("%d signals handled\n", SIGNALS);
  return 0;
}
