// Four threads add to a counter without a lock: reading and writing it are two steps. Prints once for every line on standard
// input how many additions were lost since the last time; ends with it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static volatile long counter;
static atomic_long rounds;
static atomic_int stop;

__attribute__((noinline)) static void add(long key) {
  long old = counter; // first line
  usleep(20 + key);
  counter = old + 1; // last line
}

static void *worker(void *argument) {
  while (!stop) {
    add((long)argument % 2);
    rounds++;
  }
  return argument;
}

int main(void) {
  pthread_t threads[4];
  for (long i = 0; i < 4; i++)
    pthread_create(&threads[i], 0, worker, (void *)i);
  long last_counter = 0, last_rounds = 0;
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    // Those who are in between count for either side: up to one a thread.
    long now = counter, all = rounds;
    long lost = (all - last_rounds) - (now - last_counter);
    printf("%s\n", lost > 4 ? "lost" : lost < -4 ? "found" : "none lost");
    fflush(stdout);
    last_counter = now, last_rounds = all;
  }
  stop = 1;
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], 0);
}
