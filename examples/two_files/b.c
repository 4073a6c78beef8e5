// The part in a static archive.
#include "parts.h"

void *b_worker(void *arg) {
  add(1);
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  count += 10;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  return arg;
}
