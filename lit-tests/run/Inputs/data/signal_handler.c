// A signal handler writes between a store and a load; it was installed long before.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static int input, cell, other, handled;

static void on_signal(int number) {
  cell = input + number;
  handled++;
}

static void *worker(void *unused) {
  cell = 1;
  other = 1;
  raise(SIGUSR1);
  int got = cell;  // NOT CONST t1 load
  int kept = other;
  cell = 2;
  pthread_kill(pthread_self(), SIGUSR1);
  got = got * 1000 + cell; // NOT CONST t1 load
  printf("%d %d %d\n", got, kept, handled);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  signal(SIGUSR1, on_signal);
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
