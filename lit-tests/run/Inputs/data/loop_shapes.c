// Loops of other shapes: do-while, negative steps, large steps, unsigned counters that wrap around, nested ones, two exits.
// RECORDED: 4
// COVERED: 7
// COVERED: 0
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int input;
static int start = 6, limit = 2, step = 3;
static int cells[32];

static void *worker(void *unused) {
  long sum = 0;
  int i = start; // CONST t1 load 6
  do {           // TRIPS t1 4
    cells[i] = i;
    sum += i;
  } while (--i > limit);
  if (i == 2) // TAKEN t1 true
    sum += 1000;
  int down = 0;
  for (int j = 9; j >= 0; j -= step) { // TRIPS t1 4
    cells[j] += j;
    down = j;
  }
  if (down == 0) // TAKEN t1 true
    sum += 2000;
  uint8_t small = 250;
  int wraps = 0;
  while ((uint8_t)(small + 6) < 8) { // TRIPS t1 8
    small++;
    wraps++;
  }
  if (wraps == 8) // TAKEN t1 true
    sum += 4000;
  unsigned big = UINT32_MAX - 1;
  int passed = 0;
  for (int j = 0; j < input; j++)
    big += 1;
  if (big < 5) // NOT TAKEN t1
    passed = 1;
  int at_least_once = 0;
  int rounds = input;
  do {
    at_least_once = 1;
    rounds--;
  } while (rounds > 0);
  if (at_least_once) // TAKEN t1 true
    sum += 8000;
  int found = -1;
  for (int j = 0; j < 20; j++) { // NOT TRIPS t1
    if (j == input) {
      found = j;
      break;
    }
  }
  for (int j = 0; j < 2; j++)   // TRIPS t1 2
    for (int k = 0; k < 2; k++) // TRIPS t1 2
      sum += j * k;
  printf("%ld %d %d %d\n", sum, passed, found, down);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 4;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%d %d\n", cells[3], cells[6]);
  return 0;
}
