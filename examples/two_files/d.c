// The part in a shared object that is opened while the program runs.
#include "parts.h"

void *d_worker(void *arg) {
  add(4);
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  count += 40;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  return arg;
}
