// Readers and writers: two writers keep two halves of a pair equal, three readers check that they are.
// Before that, main shows that the try variants fail against a held lock.
//
//   covsched cc -O2 -pthread readers_writers.c -o readers_writers
//   covsched record -o rw.sched -- ./readers_writers && covsched show rw.sched
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { READERS = 3, WRITERS = 2, ROUNDS = 5 };

static pthread_rwlock_t lock;
static int pair[2], torn;

static void *writer(void *arg) {
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_rwlock_wrlock(&lock); // SCHED: pthread_rwlock_wrlock x10
    pair[0]++;
    pair[1]++;
    pthread_rwlock_unlock(&lock); // SCHED: pthread_rwlock_unlock x10
  }
  return arg;
}

static void *reader(void *seen_torn) {
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_rwlock_rdlock(&lock); // SCHED: pthread_rwlock_rdlock x15
    if (pair[0] != pair[1])
      *(int *)seen_torn = 1;
    pthread_rwlock_unlock(&lock); // SCHED: pthread_rwlock_unlock x15
  }
  return NULL;
}

static void *try_both(void *arg) {
  int *results = arg;
  results[0] = pthread_rwlock_tryrdlock(&lock); // SCHED: pthread_rwlock_tryrdlock x1 = 16
  results[1] = pthread_rwlock_trywrlock(&lock); // SCHED: pthread_rwlock_trywrlock x1 = 16
  return NULL;
}

int main(void) {
  pthread_t threads[READERS + WRITERS], trier;
  int results[2], seen_torn[READERS] = {0};
  pthread_rwlock_init(&lock, NULL); // SCHED: pthread_rwlock_init x1

  pthread_rwlock_wrlock(&lock);                        // SCHED: pthread_rwlock_wrlock x1
  pthread_create(&trier, NULL, try_both, results);     // SCHED: pthread_create x1
  pthread_join(trier, NULL);                           // SCHED: pthread_join x1
  pthread_rwlock_unlock(&lock);                        // SCHED: pthread_rwlock_unlock x1
  printf("tried: %d %d\n", results[0] == EBUSY, results[1] == EBUSY);
  int ok = pthread_rwlock_trywrlock(&lock) == 0; // SCHED: pthread_rwlock_trywrlock x1 = 0
  pthread_rwlock_unlock(&lock);                  // SCHED: pthread_rwlock_unlock x1
  ok &= pthread_rwlock_tryrdlock(&lock) == 0;    // SCHED: pthread_rwlock_tryrdlock x1 = 0
  pthread_rwlock_unlock(&lock);                  // SCHED: pthread_rwlock_unlock x1

  for (int i = 0; i < READERS; ++i)
    pthread_create(&threads[i], NULL, reader, &seen_torn[i]); // SCHED: pthread_create x3
  for (int i = 0; i < WRITERS; ++i)
    pthread_create(&threads[READERS + i], NULL, writer, NULL); // SCHED: pthread_create x2
  for (int i = 0; i < READERS + WRITERS; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x5
  for (int i = 0; i < READERS; ++i)
    torn |= seen_torn[i];
  pthread_rwlock_destroy(&lock); // SCHED: pthread_rwlock_destroy x1
  printf("pair %d %d, torn %d, tries %s\n", pair[0], pair[1], torn, ok ? "ok" : "failed");
  return 0;
}
