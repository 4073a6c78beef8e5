// Exit handlers, destructors and thread-specific data's destructors run after what the program did last, and read and
// write variables.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t key;
static int input, cell = 1, ended = 1, last = 1;

static void at_thread_end(void *value) { ended = *(int *)value + 1; }
static void at_exit(void) {
  printf("at exit: %d %d\n", cell, last);
  last = input;
}
__attribute__((destructor)) static void at_end(void) { printf("at end: %d\n", last); }

static void *worker(void *unused) {
  pthread_setspecific(key, &input);
  ended = 2;
  cell = 3;
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  atexit(at_exit);
  pthread_key_create(&key, at_thread_end);
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  int got = ended; // NOT CONST t0 load
  printf("%d %d\n", got, cell);
  cell = 4;
  last = 7;
  exit(got & 1);
}
