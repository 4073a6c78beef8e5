// Calls between units of all kinds of functions, from two threads: every pair of units with and without loom must do the same.
#include "units.h"
#include <pthread.h>
#include <stdio.h>
int back(int n) { return n * 7 % 11; }
static int own(int n) { return n ^ 5; }

__attribute__((noinline)) static unsigned long round_of(int n) {
  unsigned long h = 1;
  h = h * 31 + plain(n);
  h = h * 31 + (unsigned long)mixed(n, n * 0.5, n + 1, 2.5f, "text", n + 2, n + 3, n * 0.25, n + 4, (short)(n % 100));
  struct small small = gives_small((struct small){n, n + 9});
  h = h * 31 + small.a * 5 + small.b;
  struct large large = gives_large((struct large){{n, 2, 3, 4, 5}, 1.5}, n % 7);
  for (int i = 0; i < 5; ++i)
    h = h * 31 + large.a[i];
  h = h * 31 + (unsigned long)large.b;
  h = h * 31 + sums(4, 1L, (long)n, 3L, 4L);
  h = h * 31 + calls_back(own, n % 5) + calls_back(plain, 3);
  h = h * 31 + blocks(n);
  h = h * 31 + returns(n % 6);
  h = h * 31 + old_style(n, 3);
  h = h * 31 + jumps(n % 30);
  notes(n % 9);
  copies(n, large, (struct large){{n, 1, n}, 3});
  long told[2] = {n, 1};
  tells(n % 4, &told[0], &told[1]);
  void (*volatile noting)(int) = notes;
  void (*volatile telling)(int, void *, void *) = tells;
  noting(n % 5);
  telling(n % 6, &told[1], &told[0]);
  h = h * 31 + (unsigned long)(noted + told[0] * 3 + told[1]);
  int (*volatile pointer)(int) = n % 2 ? plain : blocks;
  return h * 31 + pointer(n);
}

static void *work(void *to) {
  unsigned long h = 0;
  for (int n = 0; n < 3000; ++n)
    h = h * 131 + round_of(n);
  return *(unsigned long *)to = h, to;
}

int main(void) {
  unsigned long results[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, work, &results[i]) != 0)
      return 2;
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  printf("%016lx %d\n", results[0], results[0] == results[1]);
  return 0;
}
