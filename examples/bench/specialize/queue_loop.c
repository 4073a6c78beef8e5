// SIZE tasks pass through a bounded queue from the main thread to THREADS workers: loops around condition variables, in
// functions of their own.
#include "../bench.h"

enum { PLACES = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static uint64_t queue[PLACES], sum;
static long head, used;
static int closed;

static void put(uint64_t task) {
  pthread_mutex_lock(&lock);
  while (used == PLACES)
    pthread_cond_wait(&not_full, &lock);
  queue[(head + used++) % PLACES] = task;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&lock);
}

// Whether there was one; there is none when the queue is closed and empty.
static int take(uint64_t *task) {
  pthread_mutex_lock(&lock);
  while (used == 0 && !closed)
    pthread_cond_wait(&not_empty, &lock);
  int found = used > 0;
  if (found) {
    *task = queue[head];
    head = (head + 1) % PLACES;
    used--;
    pthread_cond_signal(&not_full);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static void *worker(void *arg) {
  uint64_t own = 0;
  for (uint64_t task; take(&task);)
    own += next_random(&task);
  pthread_mutex_lock(&lock);
  sum += own;
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char *argv[]) {
  pthread_t workers[MAX_THREADS];
  read_arguments(argc, argv, 4, 80);
  for (long i = 0; i < threads; ++i)
    if (pthread_create(&workers[i], NULL, worker, (void *)i) != 0)
      abort();
  for (long i = 0; i < size; ++i)
    put((uint64_t)i);
  pthread_mutex_lock(&lock);
  closed = 1;
  pthread_cond_broadcast(&not_empty);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < threads; ++i)
    pthread_join(workers[i], NULL);
  printf("queue_loop %ld: %llu\n", size, (unsigned long long)sum);
  return 0;
}
