// Timed calls with deadlines that some meet and some miss, by chance. Who did is printed, and belongs to the schedule:
// also where a delayed run comes to a call that succeeded when its deadline has long passed.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 6 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static char results[THREADS][4 * ROUNDS + 1];

static struct timespec soon(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += 300000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static void *worker(void *arg) {
  char *result = results[(long)arg];
  for (int i = 0; i < ROUNDS; ++i) {
    struct timespec at = soon();
    int failed = pthread_mutex_timedlock(&mutex, &at);
    usleep(150);
    if (!failed)
      pthread_mutex_unlock(&mutex);
    *result++ = failed == ETIMEDOUT ? '-' : 'm';

    at = soon();
    failed = (i + (long)arg) % 2 ? pthread_rwlock_timedrdlock(&rwlock, &at) : pthread_rwlock_timedwrlock(&rwlock, &at);
    usleep(150);
    if (!failed)
      pthread_rwlock_unlock(&rwlock);
    *result++ = failed == ETIMEDOUT ? '-' : 'r';

    at = soon();
    failed = sem_timedwait(&sem, &at) == 0 ? 0 : errno;
    usleep(150);
    if (!failed)
      sem_post(&sem);
    *result++ = failed == ETIMEDOUT ? '-' : 's';

    at = soon();
    pthread_mutex_lock(&lock);
    if ((i + (long)arg) % 3 == 0)
      pthread_cond_signal(&cond);
    failed = pthread_cond_timedwait(&cond, &lock, &at);
    pthread_mutex_unlock(&lock);
    *result++ = failed == ETIMEDOUT ? '-' : 'c';
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  int late = 0;
  sem_init(&sem, 0, 1);
  for (long i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < THREADS; ++i) {
    struct timespec at = soon();
    while (pthread_timedjoin_np(threads[i], NULL, &at) == ETIMEDOUT) {
      late++;
      at = soon();
      usleep(2000);
    }
  }
  for (int i = 0; i < THREADS; ++i)
    printf("%s ", results[i]);
  printf("%d\n", late);
  return 0;
}
