// SPLASH2-lu: processor 0 notes in rf when the factorization was finished, and another one that leaves the last barrier with
// it reads rf at once.
//
// In rounds: a small matrix is factored by two threads, column by column. Failures: rf that is not there yet.
//
// Filters: result_read.order (rf is assigned before it is read), .order_counted (the same with counts); .force (the read comes
// first).
#include "race.h"

enum { N = 12, PROCESSORS = 2 };

static struct {
  pthread_barrier_t start;
  volatile uint64_t rf;
  double a[N][N];
} Global;

static void fill(void) {
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j)
      Global.a[i][j] = i == j ? N + 1.0 : 1.0 / (1 + i + j);
}

// One processor's columns; the barrier is between the steps.
static void factor(int processor) {
  for (int k = 0; k < N; ++k) {
    pthread_barrier_wait(&Global.start);
    for (int j = k + 1; j < N; ++j)
      if (j % PROCESSORS == processor) {
        double top = Global.a[k][j] / Global.a[k][k];
        for (int i = k + 1; i < N; ++i)
          Global.a[i][j] -= top * Global.a[i][k];
      }
  }
  pthread_barrier_wait(&Global.start);
}

static void *processor_0(void *argument) {
  factor(0);
  delay();
  Global.rf = (uint64_t)(1e6 * Global.a[N - 1][N - 1]); // [assign]
  return argument;
}

static void *processor_1(void *argument) {
  factor(1);
  uint64_t rf = Global.rf; // [read]
  operation();
  if (rf == 0)
    failure();
  return argument;
}

__attribute__((noinline)) static void run_round(void) {
  fill();
  Global.rf = 0;
  pthread_t first = start(processor_0, 0), second = start(processor_1, 0);
  join(first);
  join(second);
  must(Global.a[N - 1][N - 1] > 12 && Global.a[N - 1][N - 1] < 13, "the factors are wrong");
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 500, 2);
  pthread_barrier_init(&Global.start, NULL, PROCESSORS);
  while (running())
    run_round();
  return finish();
}
