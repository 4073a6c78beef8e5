// What variables begin with: numbers, arrays, structs, pointers, text. Those that are written, even once, are what was
// written; an external one may be written by anybody.
// RECORDED: 5
// COVERED: 9
// COVERED: 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
  short key;
  const char *name;
  const int *values;
};

static int input;
static int number = 41, zero, changed = 3;
static const int row[4] = {5, 6, 7};
static struct entry entries[2] = {{1, "one", row}, {2, "two", &row[1]}};
static int *pointer = &number;
int external = 12;

static void *worker(void *unused) {
  int a = number; // CONST t1 load 41
  int b = zero;   // CONST t1 load 0
  int c = row[2]; // CONST t1 load 7
  int d = row[3]; // CONST t1 load 0
  int e = entries[1].key;       // CONST t1 load 2
  int f = entries[1].values[1]; // CONST t1 load &row+4; CONST t1 load 7
  int g = entries[0].name[1];   // CONST t1 load 110
  int h = *pointer;             // CONST t1 load &number; CONST t1 load 41
  int i = changed;              // NOT CONST t1 load
  int j = external;             // CONST t1 load 12
  printf("%d %d %d %d %d %d %d %d %d %d\n", a, b, c, d, e, f, g, h, i, j);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  if (input > 4)
    changed = input;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
