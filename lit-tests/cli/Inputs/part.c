#include <pthread.h>

static pthread_mutex_t part_lock = PTHREAD_MUTEX_INITIALIZER;

int part(void) {
  pthread_mutex_lock(&part_lock);
  pthread_mutex_unlock(&part_lock);
  return 7;
}
