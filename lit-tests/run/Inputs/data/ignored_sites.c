// Synchronizations that are left out order nothing: what threads hand over under such a lock is not known. What they hand
// over otherwise is, and the number of log lines is free.
// RECORDED: 2 5
// COVERED: 2 9
// COVERED: 2 0
// LEAVES: 3 5
// SPECIALIZE: --ignore-sites log_line
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
static int input, next, lines, longest = 1, widths[MOST];

__attribute__((noinline)) static int log_line(int width) {
  pthread_mutex_lock(&log_lock);
  lines++; // NOT CONST t1 load; NOT CONST t2 load
  if (width > longest)
    longest = width;
  int now = longest; // NOT CONST t1 load; NOT CONST t2 load
  pthread_mutex_unlock(&log_lock);
  return now >= width;
}

static void *worker(void *unused) {
  pthread_mutex_lock(&lock);
  int id = next++; // CONST t1 load ?a; CONST t2 load ?b
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < input; i++)
    widths[id] += log_line(i); // DISJOINT self
  return unused;
}

int main(int count, char **arguments) {
  int number = count > 1 ? atoi(arguments[1]) : 2;
  input = count > 2 ? atoi(arguments[2]) : 5;
  if (number > MOST)
    return 2;
  pthread_t threads[MOST];
  for (int i = 0; i < number; i++)
    pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < number; i++)
    pthread_join(threads[i], NULL);
  int made = next; // CONST t0 load 2
  printf("%d %d %d %d %d\n", made, lines, longest, widths[0], widths[1]);
  return 0;
}
