// Main returns while threads still wait, each in another call: none of these waits ends, in no run.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 7 };

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER, all_there = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t threads[THREADS];
static sem_t sem;
static int there, nothing[2];

static void *waiter(void *arg) {
  char byte;
  pthread_mutex_lock(&count_lock);
  if (++there == THREADS)
    pthread_cond_signal(&all_there);
  pthread_mutex_unlock(&count_lock);
  switch ((long)arg) {
  case 0:
    pthread_mutex_lock(&lock);
    for (;;)
      pthread_cond_wait(&never, &lock);
  case 1:
    sem_wait(&sem);
    break;
  case 2:
    pthread_barrier_wait(&barrier);
    break;
  case 3:
    pthread_mutex_lock(&held);
    break;
  case 4:
    pthread_rwlock_rdlock(&rwlock);
    break;
  case 5:
    pthread_join(threads[0], NULL);
    break;
  default:
    (void)!read(nothing[0], &byte, 1);
  }
  puts("not here");
  return NULL;
}

int main(void) {
  sem_init(&sem, 0, 0);
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_mutex_lock(&held);
  pthread_rwlock_wrlock(&rwlock);
  if (pipe(nothing) != 0)
    return 2;
  for (long i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, waiter, (void *)i);
  pthread_mutex_lock(&count_lock);
  while (there < THREADS)
    pthread_cond_wait(&all_there, &count_lock);
  pthread_mutex_unlock(&count_lock);
  usleep(1000);
  puts("main returns");
  return 5;
}
