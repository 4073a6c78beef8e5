// The part in a shared object that the program is linked with.
#include "parts.h"

void *c_worker(void *arg) {
  add(2);
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x1
  count += 20;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x1
  return arg;
}
