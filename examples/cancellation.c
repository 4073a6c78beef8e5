// Cancellation: of a thread in a condition wait (its cleanup handler unlocks the mutex that the wait took
// again), of one in a semaphore wait, and of one that only tests for it.
//
//   covsched cc -O2 -pthread cancellation.c -o cancellation
//   covsched record -o cancel.sched -- ./cancellation && covsched show cancel.sched
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t started, empty;
static int cleaned;

static void clean_up(void *arg) {
  cleaned++;
  pthread_mutex_unlock(arg); // SCHED: pthread_mutex_unlock x1
}

static void *waits_for_condition(void *arg) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  pthread_cleanup_push(clean_up, &lock);
  sem_post(&started); // SCHED: sem_post x1
  for (;;)
    pthread_cond_wait(&never, &lock); // SCHED: pthread_cond_wait x1+
  pthread_cleanup_pop(1);
  return arg;
}

static void *waits_for_semaphore(void *arg) {
  sem_post(&started); // SCHED: sem_post x1
  sem_wait(&empty);   // SCHED: sem_wait x0+
  return arg;
}

static void *tests(void *arg) {
  sem_post(&started); // SCHED: sem_post x1
  for (;;) {
    pthread_testcancel();
    usleep(100);
  }
  return arg;
}

int main(void) {
  void *(*functions[])(void *) = {waits_for_condition, waits_for_semaphore, tests};
  pthread_t threads[3];
  int cancelled = 0;
  sem_init(&started, 0, 0); // SCHED: sem_init x1
  sem_init(&empty, 0, 0);   // SCHED: sem_init x1
  for (int i = 0; i < 3; ++i)
    pthread_create(&threads[i], NULL, functions[i], NULL); // SCHED: pthread_create x3
  for (int i = 0; i < 3; ++i)
    sem_wait(&started); // SCHED: sem_wait x3
  // Whoever gets the lock now finds the first thread in its wait.
  pthread_mutex_lock(&lock);   // SCHED: pthread_mutex_lock x1
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  for (int i = 0; i < 3; ++i)
    pthread_cancel(threads[i]); // SCHED: pthread_cancel x3
  for (int i = 0; i < 3; ++i) {
    void *value;
    pthread_join(threads[i], &value); // SCHED: pthread_join x3
    cancelled += value == PTHREAD_CANCELED;
  }
  pthread_mutex_lock(&lock);   // SCHED: pthread_mutex_lock x1
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  printf("%d cancelled, %d cleaned up\n", cancelled, cleaned);
  return 0;
}
