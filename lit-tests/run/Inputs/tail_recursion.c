// Ten million calls at the end of a function, by name and through a pointer: -O2 makes them jumps, and covsched
// must leave them so. `external` is in another file: it may synchronize.
#include <stdio.h>
#include <stdlib.h>

#ifdef EXTERNAL
void external(void) {}
#else
void external(void);
static int (*next)(int);

static int through_pointer(int n) { return n ? next(n - 1) : 0; }

static int by_name(int n, int sum) {
  external();
  if (n == 0)
    return sum;
  return by_name(n - 1, sum ^ n);
}

int main(void) {
  int n = 10000000;
  next = through_pointer;
  printf("%d %d\n", by_name(n, 1), next(n));
  return 0;
}
#endif
