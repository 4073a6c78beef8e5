// A value that goes through callees and through memory: as an argument, by a pointer, in a struct, as a result.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
  int first;
  long second;
};

static int input, cell, other, result;

static void put(int *where, int value) { *where = value; }
static int get(const int *where) { return *where; } // CONST t1 load 3
static int half(int value) { return value / 2; }
static void set(struct pair *pair, int first, long second) {
  pair->first = first;
  pair->second = second;
}
static long weigh(const struct pair *pair) {
  return pair->first * pair->second; // CONST t1 load 6; NOT CONST t1 load 5
}

static void *worker(void *unused) {
  put(&cell, 3);
  put(&other, input);
  int got = get(&cell);        // CONST t1 call 3
  int more = get(&other);      // NOT CONST t1 call
  int halved = half(got + 11); // CONST t1 call 7
  struct pair pair;
  set(&pair, 6, input);
  result = (int)weigh(&pair) + halved * 1000 + more; // NOT CONST t1 call
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  int last = cell; // CONST t0 load 3
  printf("%d %d\n", result, last);
  return 0;
}
