#include "common.h"

__attribute__((noinline)) void add(int n) {
  pthread_mutex_lock(&lock);
  count += n;
  pthread_mutex_unlock(&lock);
}

int add_more(int n) { return add_twice(n) + add_as(n) + add_as('a'); }
