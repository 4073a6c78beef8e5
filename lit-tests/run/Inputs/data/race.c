// A store of another thread that nothing orders: whether it comes before or after a load nobody knows, so neither value is
// proven. A cell that only the other one reads is known. What is printed does not show the race.
// RACY
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int input, raced = 1, read_only = 6, results[2];

static void *writer(void *unused) {
  int known = read_only; // CONST t1 load 6
  for (int i = 0; i < 100; i++)
    __asm__ volatile("" ::: "memory");
  raced = 2; // LABEL store; NOT DISJOINT read
  results[0] = known;
  return unused;
}

static void *reader(void *unused) {
  int known = read_only; // CONST t2 load 6
  raced = 1;
  for (int i = 0; i < 50; i++)
    __asm__ volatile("" ::: "memory");
  int got = raced; // LABEL read; NOT CONST t2 load
  results[1] = known + (got == 1 || got == 2);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  int last = raced; // NOT CONST t0 load
  printf("%d %d %d %d\n", input, results[0], results[1], last == 1 || last == 2);
  return 0;
}
