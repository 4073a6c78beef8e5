// A function that locks on one of its paths: where it did not, it may have stored something else.
// RECORDED: 4 5
// COVERED: 4 9
// LEAVES: 5 5
// LEAVES: 9 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int input, cell = 1, noted;

static int note(int value) {
  if (value % 2) {
    cell = value;
    return 0;
  }
  pthread_mutex_lock(&lock);
  noted += value;
  cell = 100;
  pthread_mutex_unlock(&lock);
  return 1;
}

static void *worker(void *arg) {
  int rounds = (int)(long)arg, sum = 0;
  for (int i = 0; i < rounds; i++) {
    sum += note(i);
    sum = sum * 3 + cell;
  }
  cell = input;
  note(7);
  int got = cell; // NOT CONST t1 load 100
  printf("%d %d %d %d\n", sum, got, noted, input);
  return NULL;
}

int main(int count, char **arguments) {
  long rounds = count > 1 ? atoi(arguments[1]) : 4;
  input = count > 2 ? atoi(arguments[2]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, (void *)rounds);
  pthread_join(thread, NULL);
  return 0;
}
