// A constructor writes before main: a variable's initializer is not what main finds.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int cell = 1, other = 1;

__attribute__((constructor)) static void before_main(int count, char **arguments) {
  cell = count > 1 ? atoi(arguments[1]) : 5;
}

static void *worker(void *unused) {
  int got = cell;   // NOT CONST t1 load
  int kept = other; // CONST t1 load 1
  printf("%d %d\n", got, kept);
  return unused;
}

int main(void) {
  int got = cell; // NOT CONST t0 load
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%d\n", got);
  return 0;
}
