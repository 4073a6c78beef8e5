// Output that depends on the order of locks, in a program without races: each thread appends its letter to one
// text, under one lock. Run it twice and compare. `covsched run` makes every run print the same text. Arguments:
// threads (8, up to 26), appends in all (10000).
//
//   covsched cc -O2 -pthread append_order.c -o append_order
//   covsched record -o append.sched -- ./append_order && covsched run --schedule append.sched -- ./append_order
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 26, MAX_APPENDS = 1000000, SHOWN = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static char text[MAX_APPENDS + 1];
static int length, threads = 8, appends = 10000;

static void *appender(void *arg) {
  long me = (long)arg;
  // All begin together: a thread alone would be done before the next one is made.
  pthread_barrier_wait(&start); // SCHED: pthread_barrier_wait x8
  for (long i = appends * me / threads; i < appends * (me + 1) / threads; ++i) {
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x10000
    text[length++] = (char)('a' + me);
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x10000
  }
  return NULL;
}

// FNV-1a, to tell whole texts apart by one number.
static uint64_t hash(const char *bytes) {
  uint64_t value = 0xcbf29ce484222325u;
  for (; *bytes; ++bytes)
    value = (value ^ (unsigned char)*bytes) * 0x100000001b3u;
  return value;
}

int main(int argc, char *argv[]) {
  pthread_t ids[MAX_THREADS];
  if (argc > 1)
    threads = atoi(argv[1]);
  if (argc > 2)
    appends = atoi(argv[2]);
  if (threads < 1 || threads > MAX_THREADS || appends < 0 || appends > MAX_APPENDS)
    return 2;
  pthread_barrier_init(&start, NULL, threads); // SCHED: pthread_barrier_init x1
  for (long i = 0; i < threads; ++i)
    pthread_create(&ids[i], NULL, appender, (void *)i); // SCHED: pthread_create x8
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);    // SCHED: pthread_join x8
  pthread_barrier_destroy(&start); // SCHED: pthread_barrier_destroy x1
  // From the middle, where all threads are under way.
  int from = length > SHOWN ? length / 2 - SHOWN / 2 : 0;
  printf("...%.*s..., %d letters, hash %016lx\n", SHOWN, text + from, length, (unsigned long)hash(text));
  return 0;
}
