// In a loop a value and the one of the round before are two: neither i and i + 1, nor i and what was stored a round ago, nor
// two values that are exchanged, are equal.
// RECORDED: 6
// COVERED: 9
// COVERED: 1
// COVERED: 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int input, cell, same, later, exchanged;
static int history[64];

static void *worker(void *unused) {
  int before = -1, left = 3, right = 4;
  cell = -1;
  for (int i = 0; i < input; i++) { // NOT TRIPS t1
    if (cell == i) // NOT CONST t1 load; NOT TAKEN t1 true
      same++;
    cell = i;
    if (before == i) // NOT TAKEN t1
      later++;
    before = i + 1;
    int kept = left;
    left = right;
    right = kept;
    if (left == 4) // NOT TAKEN t1
      exchanged++;
    history[i] = before;
    if (i > 0 && history[i] == history[i - 1]) // NOT TAKEN t1 true
      later += 1000;
  }
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 6;
  if (input > 64)
    return 2;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%d %d %d %d\n", same, later, exchanged, cell);
  return 0;
}
