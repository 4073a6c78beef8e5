// Assembly writes memory: through an operand, or anything that it can reach.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int input, cell, pointed, *pointer = &pointed;

static void *worker(void *unused) {
  cell = 1;
  __asm__ volatile("movl %1, %0" : "=m"(cell) : "r"(input));
  int got = cell; // NOT CONST t1 load
  pointed = 1;
  __asm__ volatile("movl %1, (%0)" : : "r"(pointer), "r"(input) : "memory");
  int reached = pointed; // NOT CONST t1 load
  int made;
  __asm__("leal 1(%1), %0" : "=r"(made) : "r"(input));
  printf("%d %d %d\n", got, reached, made);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
