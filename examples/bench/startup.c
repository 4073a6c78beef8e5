// Starts its threads, which do nothing, and ends: what a program pays once. SIZE says nothing.
#include "bench.h"

static void *worker(void *arg) { return arg; }

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 1);
  run_threads(worker);
  printf("startup %ld: %d\n", size, threads);
  return 0;
}
