#include <pthread.h>

int increment(void);
void report(int count);

static void *worker(void *unused) {
  report(increment());
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, worker, 0);
  pthread_join(thread, 0);
  return 0;
}
