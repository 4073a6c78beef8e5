// Inline functions of which several files have a copy, each with two versions or, at -O0, with one.
#include <pthread.h>

extern pthread_mutex_t lock;
extern int count;
void add(int n);

template <typename T> int add_as(T n) {
  if (n == 0)
    return 1;
  add(static_cast<int>(n));
  add(1);
  return count;
}

inline int add_twice(int n) {
  int all = add_as(n) + add_as(static_cast<long>(n));
  add(2);
  return all;
}
