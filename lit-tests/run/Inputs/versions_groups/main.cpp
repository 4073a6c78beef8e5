#include "common.h"
#include <cstdio>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int count;
int add_more(int n);

static void *worker(void *) {
  add_twice(3);
  add_more(2);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, worker, nullptr);
  pthread_join(thread, nullptr);
  std::printf("count %d\n", count);
}
