// Synchronization through function pointers: a table of `&pthread_mutex_lock` and the like, as locking
// layers have it. The event's site is in the function itself; the call in the program shows as derived.
//
//   covsched cc -O2 -pthread function_pointers.c -o function_pointers
//   covsched record -o pointers.sched -- ./function_pointers && covsched show pointers.sched
#include <pthread.h>
#include <stdio.h>

struct lock_operations {
  int (*lock)(pthread_mutex_t *);
  int (*unlock)(pthread_mutex_t *);
};

static const struct lock_operations plain = {pthread_mutex_lock, pthread_mutex_unlock};
static int (*volatile join)(pthread_t, void **) = pthread_join;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *worker(void *arg) {
  const struct lock_operations *operations = arg;
  for (int i = 0; i < 3; ++i) {
    operations->lock(&lock);
    count++;
    operations->unlock(&lock);
  }
  return NULL;
}

// SCHED-TOTAL: pthread_mutex_lock x6
// SCHED-TOTAL: pthread_mutex_unlock x6
// SCHED-TOTAL: pthread_join x2
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, worker, (void *)&plain); // SCHED: pthread_create x2
  for (int i = 0; i < 2; ++i)
    join(threads[i], NULL);
  printf("count %d\n", count);
  return plain.lock == pthread_mutex_lock ? 0 : 1;
}
