// Two threads take turns with two semaphores, and a third, named one counts what was said.
//
//   covsched cc -O2 -pthread semaphores_ping_pong.c -o ping_pong
//   covsched record -o ping_pong.sched -- ./ping_pong && covsched show ping_pong.sched
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static sem_t ping, pong, *said;
static char words[2 * ROUNDS + 1];
static int length;

static void *ponger(void *arg) {
  for (int i = 0; i < ROUNDS; ++i) {
    sem_wait(&pong); // SCHED: sem_wait x5
    words[length++] = 'o';
    sem_post(said);  // SCHED: sem_post x5
    sem_post(&ping); // SCHED: sem_post x5
  }
  return arg;
}

int main(void) {
  pthread_t thread;
  char name[64];
  int value;
  snprintf(name, sizeof name, "/covsched-ping-pong-%d", (int)getpid());
  said = sem_open(name, O_CREAT | O_EXCL, 0600, 0); // SCHED: sem_open x1
  if (said == SEM_FAILED)
    return 2;
  sem_unlink(name);
  sem_init(&ping, 0, 1);                       // SCHED: sem_init x1
  sem_init(&pong, 0, 0);                       // SCHED: sem_init x1
  pthread_create(&thread, NULL, ponger, NULL); // SCHED: pthread_create x1
  for (int i = 0; i < ROUNDS; ++i) {
    sem_wait(&ping); // SCHED: sem_wait x5
    words[length++] = 'i';
    sem_post(said);  // SCHED: sem_post x5
    sem_post(&pong); // SCHED: sem_post x5
  }
  pthread_join(thread, NULL); // SCHED: pthread_join x1
  sem_getvalue(said, &value); // SCHED: sem_getvalue x1
  sem_close(said);            // SCHED: sem_close x1
  sem_destroy(&ping);         // SCHED: sem_destroy x1
  sem_destroy(&pong);         // SCHED: sem_destroy x1
  printf("%s, %d words\n", words, value);
  return 0;
}
