// sem_post from a signal handler, the one synchronization that a handler may do. Main sends the signal to a
// worker with pthread_kill and waits for the handler's post. The worker waits for data from a pipe meanwhile, and
// not in a synchronization, so that its handlers' posts have one place in the schedule.
//
//   covsched cc -O2 -pthread sem_from_signal.c -o sem_from_signal
//   covsched record -o signal.sched -- ./sem_from_signal && covsched show signal.sched
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { SIGNALS = 5 };

static sem_t handled, started;
static int finish[2];

static void handler(int signal) {
  (void)signal;
  sem_post(&handled); // SCHED: sem_post x5
}

static void *worker(void *arg) {
  char byte;
  sem_post(&started); // SCHED: sem_post x1
  // A signal interrupts this; SA_RESTART begins it again.
  return read(finish[0], &byte, 1) == 1 ? arg : NULL;
}

int main(void) {
  pthread_t thread;
  void *value = NULL;
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  if (pipe(finish) != 0)
    return 2;
  sem_init(&handled, 0, 0);                       // SCHED: sem_init x1
  sem_init(&started, 0, 0);                       // SCHED: sem_init x1
  pthread_create(&thread, NULL, worker, &finish); // SCHED: pthread_create x1
  sem_wait(&started);                             // SCHED: sem_wait x1
  for (int i = 0; i < SIGNALS; ++i) {
    pthread_kill(thread, SIGUSR1); // SCHED: pthread_kill x5
    sem_wait(&handled);            // SCHED: sem_wait x5
  }
  if (write(finish[1], "x", 1) != 1)
    return 2;
  pthread_join(thread, &value); // SCHED: pthread_join x1
  printf("%d signals handled, %s\n", SIGNALS, value ? "finished" : "no data");
  return 0;
}
