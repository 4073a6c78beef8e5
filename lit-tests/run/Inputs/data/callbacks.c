// Functions that the library calls back write variables: qsort, bsearch, twalk, pthread_once, a cleanup handler.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int input, compared, least, visited, prepared, cleaned, numbers[4] = {4, 1, 3, 2};
static int *sought;

static int by_value(const void *a, const void *b) {
  compared = input;
  least = *(const int *)a < *(const int *)b ? *(const int *)a : *(const int *)b;
  return *(const int *)a - *(const int *)b;
}
static int by_address(const void *a, const void *b) {
  sought = (int *)b;
  return (a > b) - (a < b);
}
static void visit(const void *node, VISIT which, int depth) {
  if (which == leaf)
    visited = **(int *const *)node + depth;
}
static void prepare(void) { prepared = input; }
static void clean(void *value) { cleaned = *(int *)value; }
__attribute__((noinline)) static void leave_clean(void) {
  pthread_cleanup_push(clean, &input);
  pthread_cleanup_pop(1);
}

static void *worker(void *unused) {
  compared = 0;
  least = 1;
  numbers[0] = 40 + input;
  qsort(numbers, 4, sizeof numbers[0], by_value);
  int sorted = numbers[0]; // NOT CONST t1 load 45; NOT CONST t1 load 4
  int steps = compared;    // NOT CONST t1 load
  int smallest = least;    // NOT CONST t1 load 0
  int key = input + 40;
  least = 0;
  int *found = bsearch(&key, numbers, 4, sizeof numbers[0], by_value);
  int after = least; // NOT CONST t1 load
  void *root = NULL;
  sought = NULL;
  tsearch(&key, &root, by_address);
  visited = 1;
  twalk(root, visit);
  int walked = visited; // NOT CONST t1 load
  tdelete(&key, &root, by_address);
  int is_found = sought == &key; // NOT CONST t1 load null
  prepared = 1;
  pthread_once(&once, prepare);
  int ready = prepared; // NOT CONST t1 load
  cleaned = 1;
  leave_clean();
  int tidy = cleaned; // NOT CONST t1 load
  printf("%d %d %d %d %d %d %d %d %d\n", sorted, steps, smallest > 0, found != NULL, after, walked, is_found, ready, tidy);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
