// Threads that create threads: numbers and parts come from the creator's own, and are constants down the line.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 64 };

struct part {
  int first, last, level;
};

static int input, cells[CELLS];

static void *leaf(void *arg) {
  struct part *part = arg;
  int level = part->level; // CONST t4 load 2
  for (int i = part->first; i < part->last; i++)
    cells[i] += i + level; // DISJOINT self; DISJOINT upper
  return NULL;
}

static void *inner(void *arg) {
  struct part *part = arg;
  int middle = (part->first + part->last) / 2;
  struct part below = {middle, part->last, part->level + 1};
  pthread_t thread;
  pthread_create(&thread, NULL, leaf, &below);
  for (int i = part->first; i < middle; i++)
    cells[i] = i * input; // LABEL upper; DISJOINT self
  pthread_join(thread, NULL);
  return NULL;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t threads[2];
  struct part parts[2];
  for (int i = 0; i < 2; i++) {
    parts[i].first = i * CELLS / 2;
    parts[i].last = (i + 1) * CELLS / 2;
    parts[i].level = 1;
    pthread_create(&threads[i], NULL, inner, &parts[i]);
  }
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  unsigned long sum = 0;
  for (int i = 0; i < CELLS; i++)
    sum = sum * 3 + (unsigned long)cells[i];
  printf("%lu\n", sum % 1000003);
  return 0;
}
