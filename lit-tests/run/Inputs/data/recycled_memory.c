// Memory that is used again: many objects from one call of malloc, a freed one that comes back, realloc that moves or stays,
// a function's frame that the next call gets.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
  struct node *next;
  int value;
};

static int input;

static struct node *make(int value, struct node *next) {
  struct node *node = malloc(sizeof *node);
  node->value = value;
  node->next = next;
  return node;
}

static int framed(int value, int *out) {
  int local[2] = {value, 3};
  *out = local[0];
  return local[1];
}

static void *worker(void *unused) {
  struct node *first = make(1, NULL), *second = make(input, first);
  int one = first->value;   // NOT CONST t1 load 5; NOT CONST t1 load 9
  int other = second->value; // NOT CONST t1 load
  struct node *list = NULL;
  for (int i = 0; i < 3; i++)
    list = make(i * input, list);
  int last = list->value;        // NOT CONST t1 load
  int before = list->next->value; // NOT CONST t1 load
  while (list) {
    struct node *next = list->next;
    free(list);
    list = next;
  }
  free(second);
  struct node *again = make(7, NULL);
  int seven = again->value;
  int *numbers = malloc(4 * sizeof *numbers);
  numbers[0] = input;
  numbers[1] = 2;
  for (int size = 8; size <= 4096; size *= 8)
    numbers = realloc(numbers, (size_t)size * sizeof *numbers);
  int kept = numbers[0]; // NOT CONST t1 load
  int two = numbers[1];  // NOT CONST t1 load 0
  int out;
  int three = framed(input, &out);
  int framed_value = out; // NOT CONST t1 load
  printf("%d %d %d %d %d %d %d %d %d\n", one, other, last, before, seven, kept, two, three, framed_value);
  free(first);
  free(again);
  free(numbers);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
