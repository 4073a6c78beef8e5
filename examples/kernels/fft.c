// A fast Fourier transform in six steps, in the manner of SPLASH-2's fft: the points are a square matrix, each thread has some
// of its rows, and a transposition is where threads read each other's. Threads take their numbers under a lock.
//
//   covsched cc -O2 -pthread fft.c -lm -o fft
//   covsched record -o fft.sched -- ./fft 2 3
//   covsched specialize fft --schedule fft.sched --facts fft.json
//
// A schedule with two threads covers every size. Under it the numbers of the threads and how many there are are constants,
// where one thread's rows end the other's begin, only the thread with number 0 makes the roots of unity, and no two threads
// write the same points, nor reads one what the other writes at that time.
// RECORDED: 2 3
// COVERED: 2 5
// COVERED: 2 1
// LEAVES: 1 3
// LEAVES: 4 3
// FLAGS: -lm
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 8, MOST_SIDE = 64 };

struct point {
  double re, im;
};

static struct point points[MOST_SIDE][MOST_SIDE], turned[MOST_SIDE][MOST_SIDE];
// Those of the whole transform; every `side`th one is a root for a row.
static struct point roots[MOST_SIDE * MOST_SIDE];
static int threads, side, next_id;
static double sums[MOST_THREADS];
static pthread_mutex_t id_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static struct point multiply(struct point a, struct point b) {
  return (struct point){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static void make_roots(void) {
  int count = side * side;
  for (int i = 0; i < count; i++) {
    roots[i].re = cos(2 * M_PI * i / count);
    roots[i].im = -sin(2 * M_PI * i / count);
  }
}

// The transform of one row, in its place.
static void transform(struct point *row) {
  for (int i = 1, j = 0; i < side; i++) {
    int bit = side >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j) {
      struct point kept = row[i];
      row[i] = row[j];
      row[j] = kept;
    }
  }
  for (int half = 1; half < side; half *= 2)
    for (int start = 0; start < side; start += 2 * half)
      for (int k = 0; k < half; k++) {
        struct point *low = &row[start + k], *high = &row[start + k + half];
        struct point turn = multiply(*high, roots[k * (side / (2 * half)) * side]);
        high->re = low->re - turn.re;
        high->im = low->im - turn.im;
        low->re += turn.re;
        low->im += turn.im;
      }
}

static void *worker(void *unused) {
  pthread_mutex_lock(&id_lock);
  int id = next_id++; // CONST t1 load ?a; CONST t2 load ?b
  pthread_mutex_unlock(&id_lock);
  int first = side * id / threads, last = side * (id + 1) / threads; // CONST t1 load 2; CONST t2 load 2
  if (id == 0)
    make_roots();
  for (int row = first; row < last; row++)
    for (int column = 0; column < side; column++) {
      points[row][column].re = (row * 7 + column * 3) % 11; // DISJOINT self
      points[row][column].im = (row + column) % 5;          // DISJOINT self
    }
  pthread_barrier_wait(&barrier);

  for (int row = first; row < last; row++)
    for (int column = 0; column < side; column++)
      turned[row][column].re = points[column][row].re, turned[row][column].im = points[column][row].im; // DISJOINT self
  for (int row = first; row < last; row++) {
    transform(turned[row]);
    for (int column = 0; column < side; column++) {
      struct point twiddled = multiply(turned[row][column], roots[row * column]);
      turned[row][column].re = twiddled.re; // DISJOINT self
      turned[row][column].im = twiddled.im; // DISJOINT self
    }
  }
  pthread_barrier_wait(&barrier);

  for (int row = first; row < last; row++)
    for (int column = 0; column < side; column++)
      points[row][column].re = turned[column][row].re, points[row][column].im = turned[column][row].im; // DISJOINT self
  double sum = 0;
  for (int row = first; row < last; row++) {
    transform(points[row]);
    for (int column = 0; column < side; column++)
      sum += points[row][column].re * (row + 1) + points[row][column].im * (column + 1);
  }
  sums[id] = sum; // DISJOINT self
  return unused;
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 2; // CONST t0 call 2
  int log_side = argc > 2 ? atoi(argv[2]) : 3; // NOT CONST t0 call 3
  if (threads < 1 || threads > MOST_THREADS || log_side < 0 || log_side > 6)
    return 2;
  side = 1 << log_side;
  pthread_t children[MOST_THREADS];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++)
    pthread_create(&children[i], NULL, worker, NULL);
  for (int i = 0; i < threads; i++)
    pthread_join(children[i], NULL);
  pthread_barrier_destroy(&barrier);
  int taken = next_id; // CONST t0 load 2
  double sum = 0;
  for (int i = 0; i < taken; i++) // TRIPS t0 2
    sum += sums[i];
  printf("fft of %d points: %.6f\n", side * side, sum);
  return 0;
}
