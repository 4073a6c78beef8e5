// Barrier phases: each thread adds its neighbours' values of the phase before. Two barriers a phase keep
// reading and writing apart. Arrival and leaving are events of their own; one thread a barrier is the
// serial one.
//
//   covsched cc -O2 -pthread barrier_phases.c -o barrier_phases
//   covsched record -o phases.sched -- ./barrier_phases && covsched show phases.sched
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, PHASES = 4 };

static pthread_barrier_t read_done, write_done;
static long values[THREADS];
static int serial[THREADS];

static void *worker(void *arg) {
  long me = (long)arg;
  for (int phase = 0; phase < PHASES; ++phase) {
    long next = values[(me + 1) % THREADS] + values[(me + THREADS - 1) % THREADS];
    if (pthread_barrier_wait(&read_done) == PTHREAD_BARRIER_SERIAL_THREAD) // SCHED: pthread_barrier_wait x12
      serial[me]++;
    values[me] = next;
    pthread_barrier_wait(&write_done); // SCHED: pthread_barrier_wait x12
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&read_done, NULL, THREADS);  // SCHED: pthread_barrier_init x1
  pthread_barrier_init(&write_done, NULL, THREADS); // SCHED: pthread_barrier_init x1
  for (long i = 0; i < THREADS; ++i) {
    values[i] = i + 1;
    serial[i] = 0;
  }
  for (long i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, worker, (void *)i); // SCHED: pthread_create x3
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x3
  pthread_barrier_destroy(&read_done);  // SCHED: pthread_barrier_destroy x1
  pthread_barrier_destroy(&write_done); // SCHED: pthread_barrier_destroy x1
  printf("%ld %ld %ld, %d serial\n", values[0], values[1], values[2], serial[0] + serial[1] + serial[2]);
  return 0;
}
