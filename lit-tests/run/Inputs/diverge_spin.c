// A thread that waits for another one outside of synchronizations, on an atomic. In the recorded run (`first`) the
// first thread's lock comes first; on the other input (`second`) that thread waits until the second had its own.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int second_is_there, first_is_done, second_is_done;
static int first_goes_first, text;

static void *first(void *arg) {
  while (first_goes_first ? !second_is_there : !second_is_done)
    sched_yield();
  pthread_mutex_lock(&lock);
  text = text * 10 + 1;
  pthread_mutex_unlock(&lock);
  first_is_done = 1;
  return arg;
}

static void *second(void *arg) {
  second_is_there = 1;
  while (first_goes_first && !first_is_done)
    sched_yield();
  pthread_mutex_lock(&lock); // DIVERGES stalled
  text = text * 10 + 2;
  pthread_mutex_unlock(&lock);
  second_is_done = 1;
  return arg;
}

int main(int argc, char *argv[]) {
  pthread_t threads[2];
  first_goes_first = argc > 1 && strcmp(argv[1], "first") == 0;
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  printf("%d\n", text);
  return 0;
}
