// Exceptions out of functions that synchronize: calls that were left that way are not "inside" any more.
#include <cstdio>
#include <pthread.h>
#include <stdexcept>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

struct Guard {
  Guard() {
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x3
  }
  ~Guard() {
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x3
  }
};

[[gnu::noinline]] static void deepest() {
  Guard guard; // SCHED: call x3+
  if (++count)
    throw std::runtime_error("out");
}

[[gnu::noinline]] static void deep() {
  deepest(); // SCHED: call x3
  count += 100;
}

int main() {
  for (int i = 0; i < 3; ++i) {
    try {
      deep(); // SCHED: call x3
    } catch (const std::runtime_error &) {
      count += 10;
    }
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x3
    count++;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x3
  }
  std::printf("count %d\n", count);
  return 0;
}
