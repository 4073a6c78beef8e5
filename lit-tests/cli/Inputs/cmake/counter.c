#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

int increment(void) {
  pthread_mutex_lock(&lock);
  int now = ++count;
  pthread_mutex_unlock(&lock);
  return now;
}
