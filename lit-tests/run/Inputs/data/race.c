// Stores of another thread that nothing orders: whether they come before a load nobody knows, so no value is proven. A cell
// that only one of them writes is known after both were joined, and one that nobody writes always. What is printed does
// not show the race.
// RACY
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int input, raced, both, unwritten = 6, results[2];

static void *writer(void *unused) {
  int known = unwritten; // CONST t1 load 6
  if (input < 7)
    usleep(4000);
  raced = 2; // NOT DISJOINT read
  both = 2;  // NOT DISJOINT other
  results[0] = known;
  return unused;
}

static void *reader(void *unused) {
  int known = unwritten; // CONST t2 load 6
  usleep(1000);
  int got = raced; // LABEL read; NOT CONST t2 load
  both = 3;        // LABEL other
  int own = both;  // NOT CONST t2 load
  results[1] = known + (got == 1 || got == 2) + (own == 2 || own == 3);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  raced = 1;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  int last = raced; // CONST t0 load 2
  int end = both;   // NOT CONST t0 load
  printf("%d %d %d %d %d\n", input, results[0], results[1], last, end == 2 || end == 3);
  return 0;
}
