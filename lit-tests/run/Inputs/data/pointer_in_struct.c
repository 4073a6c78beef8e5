// Stores through pointers that are kept in structs, lists and arrays reach the variable; another struct's pointer does not.
// RECORDED: 5
// COVERED: 9
// COVERED: 8
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct holder {
  struct holder *next;
  int *where;
};

static int input, cell, listed, apart, arrayed, unreached;
static struct holder inner, outer, separate;
static int *pointers[3];

static void *worker(void *unused) {
  cell = 1;
  *outer.next->where = input;
  int got = cell; // NOT CONST t1 load
  listed = 1;
  for (struct holder *at = &outer; at; at = at->next)
    if (at->where)
      *at->where += input;
  int sum = listed; // NOT CONST t1 load
  apart = 3;
  *separate.where = input;
  int kept = apart; // CONST t1 load 3
  arrayed = 1;
  *pointers[input & 1] = input;
  int element = arrayed; // NOT CONST t1 load
  printf("%d %d %d %d %d\n", got, sum, kept, element, unreached);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  inner.where = &cell;
  outer.next = &inner;
  outer.where = &listed;
  separate.where = &unreached;
  pointers[0] = &unreached;
  pointers[1] = &arrayed;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
