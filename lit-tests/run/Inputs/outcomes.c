// Outcomes that a schedule decides, each printed: who is woken by which signal, who is the barrier's serial thread,
// who runs the once routine, whose tries succeed.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 3, TRIES = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, tried = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER, waiting = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static int tickets, waiters;
static char woken[THREADS + 1], serial[ROUNDS + 1], tries[THREADS][TRIES + 1], winner[2];
static _Thread_local char me;

static void win(void) { winner[0] = me; }

static void *worker(void *arg) {
  me = (char)('a' + (long)arg);
  pthread_once(&once, win);

  // Whoever is woken takes the ticket, unless somebody else was quicker.
  pthread_mutex_lock(&lock);
  if (++waiters == THREADS)
    pthread_cond_signal(&waiting);
  do
    pthread_cond_wait(&given, &lock);
  while (tickets == 0);
  tickets--;
  woken[strlen(woken)] = me;
  pthread_mutex_unlock(&lock);

  for (int i = 0; i < ROUNDS; ++i)
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
      serial[i] = me;

  for (int i = 0; i < TRIES; ++i) {
    int failed = pthread_mutex_trylock(&tried);
    tries[(long)arg][i] = failed ? '-' : '+';
    usleep(20);
    if (!failed)
      pthread_mutex_unlock(&tried);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  pthread_mutex_lock(&lock);
  for (long i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  while (waiters < THREADS)
    pthread_cond_wait(&waiting, &lock);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < THREADS; ++i) {
    pthread_mutex_lock(&lock);
    tickets++;
    pthread_cond_signal(&given);
    pthread_mutex_unlock(&lock);
  }
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  printf("woken %s, serial %s, once %s, tries", woken, serial, winner);
  for (int i = 0; i < THREADS; ++i)
    printf(" %s", tries[i]);
  puts("");
  return 0;
}
