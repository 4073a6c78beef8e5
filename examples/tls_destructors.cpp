// Synchronization in thread-local destructors: a C++ thread_local object and a pthread key, both of which lock
// when their thread ends. Their events come after the thread function's return.
//
//   covsched c++ -O2 -pthread tls_destructors.cpp -o tls_destructors
//   covsched record -o tls.sched -- ./tls_destructors && covsched show tls.sched
#include <cstdio>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static int destroyed;

static void count_one() {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x8
  ++destroyed;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x8
}

struct Counter {
  int uses = 0;
  ~Counter() { count_one(); }
};

static thread_local Counter counter;

static void destroy_value(void *) { count_one(); }

static void *worker(void *arg) {
  ++counter.uses;
  pthread_setspecific(key, arg);
  return nullptr;
}

// The same, with a thread that ends by pthread_exit.
static void *exiting_worker(void *arg) {
  worker(arg);
  pthread_exit(nullptr); // SCHED: pthread_exit x2
}

int main() {
  pthread_t threads[4];
  pthread_key_create(&key, destroy_value);
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], nullptr, i % 2 ? exiting_worker : worker, &threads[i]); // SCHED: pthread_create x4
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], nullptr); // SCHED: pthread_join x4
  std::printf("destroyed %d\n", destroyed);
  return 0;
}
