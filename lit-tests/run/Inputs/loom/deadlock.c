// A filter that locks where the program locks as well, in the other order: they wait for each other.
#include "race.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long shared;

__attribute__((noinline)) static void inside(void) {
  pthread_mutex_lock(&lock);
  delay();
  shared++; // [inside]
  pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void around(void) {
  shared = 0; // [around-begin]
  delay();
  pthread_mutex_lock(&lock);
  shared++;
  pthread_mutex_unlock(&lock);
  shared = 0; // [around-end]
}

static void *worker(void *argument) {
  while (running()) {
    if ((long)argument % 2)
      inside();
    else
      around();
    operation();
    usleep(1000); // a moment at which it holds nothing: else no update finds one
  }
  return NULL;
}

// Nobody calls it with anything but 0.
__attribute__((noinline)) static void rarely(int argument) {
  if (argument)
    shared = argument; // [never]
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 500, 2);
  rarely(argc > 100);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
