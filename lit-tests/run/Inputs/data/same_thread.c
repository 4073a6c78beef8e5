// A load gives what the same thread stored there last, whatever is stored elsewhere in between; and a load that is equal to
// another one, of which the value is not known.
// RECORDED: 5
// COVERED: 9
// COVERED: -4
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int input, cell, other, copy, hits;
static int table[4];

static void *worker(void *unused) {
  cell = 4;
  other = input; // NOT CONST t1 load
  table[2] = other + 1; // NOT CONST t1 load
  int got = cell; // CONST t1 load 4
  copy = input;
  if (copy == input) // TAKEN t1 true
    hits++;
  table[1] = 6;
  table[3] = other;
  int entry = table[1]; // CONST t1 load 6
  cell = input;
  int last = cell; // NOT CONST t1 load
  other = got + entry + last;
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%d %d %d %d\n", cell, other, hits, table[2] + table[3]);
  return 0;
}
