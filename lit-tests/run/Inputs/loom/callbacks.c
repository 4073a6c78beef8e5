// Code that libraries call back while its thread counts as released: comparators, once routines, thread-specific destructors,
// atexit handlers; and code that is hard to pause: loops without calls, recursion, calls through pointers. Failures: wrong
// results, or two in the region at once.
#include "race.h"

enum { NUMBERS = 64 };
static int in_region;
static pthread_key_t key;

__attribute__((noinline)) static void region(void) {
  int others = __atomic_fetch_add(&in_region, 1, __ATOMIC_SEQ_CST); // [enter]
  if (others)
    failure();
  __atomic_fetch_sub(&in_region, 1, __ATOMIC_SEQ_CST); // [leave]
}

static int compare(const void *a, const void *b) {
  int left = *(const int *)a, right = *(const int *)b;
  if (left % 16 == 0)
    region();
  return (left > right) - (left < right);
}

static void sort(unsigned seed) {
  int numbers[NUMBERS];
  for (int i = 0; i < NUMBERS; ++i)
    numbers[i] = rand_r(&seed) % 1000;
  qsort(numbers, NUMBERS, sizeof *numbers, compare);
  for (int i = 1; i < NUMBERS; ++i)
    if (numbers[i - 1] > numbers[i])
      failure();
}

static unsigned long fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static void spin(void) {
  for (volatile int i = 0; i < 20000; ++i) // nothing but this
    ;
}

static void recurse(void) {
  if (fibonacci(15) != 610)
    failure();
}

static void (*const kinds[])(void) = {spin, recurse, region};

static void once_routine(void) {
  region();
  usleep(50);
}

static void destroy(void *value) {
  region();
  free(value);
}

static void *with_specific(void *argument) {
  pthread_setspecific(key, malloc(8));
  region();
  return argument;
}

static void *worker(void *argument) {
  for (long i = (long)argument; running(); ++i) {
    sort((unsigned)i);
    kinds[i % 3]();
    pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, once_routine);
    if (i % 16 == 0)
      join(start(with_specific, 0));
    operation();
  }
  return argument;
}

static void at_exit(void) { region(); }

int main(int argc, char *argv[]) {
  begin(argc, argv, 0, 4);
  pthread_key_create(&key, destroy);
  atexit(at_exit);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
