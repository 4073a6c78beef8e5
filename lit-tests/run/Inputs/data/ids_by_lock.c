// Threads that take a number under a lock: each has its own, as the schedule says, and what it indexes is its own.
// RECORDED: 10
// COVERED: 7
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int input, next;
static long slots[THREADS];
static const int weights[THREADS] = {100, 200, 300};

static void *worker(void *unused) {
  pthread_mutex_lock(&lock);
  int id = next++; // CONST t1 load ?a; CONST t2 load ?b; CONST t3 load ?c
  pthread_mutex_unlock(&lock);
  slots[id] = weights[id]; // CONST t1 load ?x; CONST t2 load ?y; CONST t3 load ?z; DISJOINT self
  for (int i = 0; i < input; i++)
    slots[id] += i; // DISJOINT self; NOT CONST t1 load; NOT CONST t2 load
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 10;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  int made = next; // CONST t0 load 3
  printf("%d: %ld %ld %ld\n", made, slots[0], slots[1], slots[2]);
  return 0;
}
