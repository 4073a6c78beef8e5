// A stencil: heat spreads on a plate. Each thread has some rows of the plate; in each round it makes its rows of the next plate
// from those around them of this one, and the two plates change places. A barrier stands after each round, and every
// other one the threads say how much has changed.
//
//   covsched cc -O2 -pthread stencil.c -o stencil
//   covsched record -o stencil.sched -- ./stencil 2 20 4
//   covsched specialize stencil --schedule stencil.sched --facts stencil.json
//
// A schedule with two threads and four rounds covers every size of the plate. Under it each thread's number, the number of
// rounds and which plate is which in each round are constants; a thread writes its rows only, and reads none that another
// writes at that time.
// RECORDED: 2 20 4
// COVERED: 2 40 4
// COVERED: 2 3 4
// COVERED: 2 20 4 15
// LEAVES: 2 20 5
// LEAVES: 3 20 4
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 8, MOST_ROWS = 64 };

static double plates[2][MOST_ROWS][MOST_ROWS];
static double changes[MOST_THREADS], total_change;
static int threads, size, rounds, reports;
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Where the heat is looked at after each round, by the thread whose row it is.
static int probe_row, probe_column;
static double probed;

static double distance(double a, double b) { return a < b ? b - a : a - b; }

static void *worker(void *arg) {
  int id = (int)(long)arg; // CONST t1 any 0; CONST t2 any 1
  int inner = size - 2, first = 1 + inner * id / threads, last = 1 + inner * (id + 1) / threads;
  for (int round = 0; round < rounds; round++) {
    int now = round % 2, next = 1 - now;
    double change = 0;
    for (int row = first; row < last; row++)
      for (int column = 1; column < size - 1; column++) {
        double around = plates[now][row - 1][column] + plates[now][row + 1][column]; // DISJOINT write
        around += plates[now][row][column - 1] + plates[now][row][column + 1];       // DISJOINT write
        plates[next][row][column] = around / 4; // DISJOINT self; LABEL write
        change += distance(plates[next][row][column], plates[now][row][column]);     // DISJOINT write
      }
    changes[id] = change; // DISJOINT self
    if (first <= probe_row && probe_row < last) // NOT TAKEN t1 false; NOT TAKEN t2 false
      probed += plates[next][probe_row][probe_column];
    if (round % 2 == 1) { // TAKEN t1 true; TAKEN t1 false; TAKEN t2 true; TAKEN t2 false
      pthread_mutex_lock(&lock);
      reports++;
      pthread_mutex_unlock(&lock);
    }
    pthread_barrier_wait(&barrier);
    if (id == 0)
      for (int i = 0; i < threads; i++) // TRIPS t1 2
        total_change += changes[i];
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

// The upper edge is hot, on both plates.
static void fill(void) {
  for (int plate = 0; plate < 2; plate++) // TRIPS t0 2
    for (int row = 0; row < size; row++)
      for (int column = 0; column < size; column++)
        plates[plate][row][column] = row == 0 ? 100 : column % 3;
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 2; // CONST t0 call 2
  size = argc > 2 ? atoi(argv[2]) : 20;
  rounds = argc > 3 ? atoi(argv[3]) : 4; // CONST t0 call 4
  probe_row = argc > 4 ? atoi(argv[4]) : 1;
  if (threads < 1 || threads > MOST_THREADS || size < 3 || size > MOST_ROWS || rounds < 0 || probe_row < 1)
    return 2;
  probe_column = size / 2;
  fill();
  pthread_t children[MOST_THREADS];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (long i = 0; i < threads; i++)
    pthread_create(&children[i], NULL, worker, (void *)i);
  for (int i = 0; i < threads; i++)
    pthread_join(children[i], NULL);
  pthread_barrier_destroy(&barrier);
  double sum = 0;
  for (int row = 0; row < size; row++)
    for (int column = 0; column < size; column++)
      sum += plates[rounds % 2][row][column];
  int told = reports; // CONST t0 load 4
  printf("stencil of %d rows, %d rounds: heat %.6f, change %.6f, probe %.6f, %d reports\n", size, rounds, sum, total_change,
         probed, told);
  return 0;
}
