// Threads that end inside: by pthread_exit, or cancelled, through functions with destructors. The first argument says
// whether (0 no, 1 exit, 2 cancelled), the second how much is computed.
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total, left;

struct Leaves {
  ~Leaves() { left++; }
};

__attribute__((noinline)) static void step(long value) {
  pthread_mutex_lock(&lock);
  total += value;
  pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void inner(int how, int size) {
  Leaves leaves;
  step(size);
  if (how == 1)
    pthread_exit(nullptr);
  if (how == 2)
    for (;;)
      sleep(1);
}

// Exceptions may come out of it, and it has nothing to land them.
__attribute__((noinline)) static void outer(int how, int size) {
  inner(how, size);
  step(2);
}

static int how, size;

static void *worker(void *) {
  outer(how, size);
  step(3);
  return nullptr;
}

int main(int count, char **arguments) {
  how = count > 1 ? atoi(arguments[1]) : 0;
  size = count > 2 ? atoi(arguments[2]) : 5;
  pthread_t thread;
  pthread_create(&thread, nullptr, worker, nullptr);
  if (how == 2)
    pthread_cancel(thread);
  void *value;
  pthread_join(thread, &value);
  std::printf("%ld %ld %d\n", total, left, value == PTHREAD_CANCELED);
  return 0;
}
