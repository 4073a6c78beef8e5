// Prices of options by the formula of Black and Scholes, in the manner of PARSEC's blackscholes: one array for each property,
// and each thread has a block of the options, for several runs over them.
//
//   covsched cc -O2 -pthread blackscholes.c -lm -o blackscholes
//   covsched record -o scholes.sched -- ./blackscholes 4 100
//   covsched specialize blackscholes --schedule scholes.sched --facts scholes.json
//
// A schedule with four threads covers every number of options. Under it each thread's number and the number of threads are
// constants, no two threads write prices of the same option, and who checks the last, shorter block is decided.
// RECORDED: 4 100
// COVERED: 4 250
// COVERED: 4 3
// LEAVES: 2 100
// FLAGS: -lm
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 16, MOST_OPTIONS = 1000, RUNS = 3 };

static double spots[MOST_OPTIONS], strikes[MOST_OPTIONS], rates[MOST_OPTIONS], volatilities[MOST_OPTIONS];
static double times[MOST_OPTIONS], prices[MOST_OPTIONS];
static int is_put[MOST_OPTIONS];
static int thread_count, option_count;
static int priced[MOST_THREADS];
static pthread_mutex_t error_lock = PTHREAD_MUTEX_INITIALIZER;
static int error_count, reporters;

static double normal(double x) { return 0.5 * erfc(-x / sqrt(2)); }

// The price of a call, or of a put.
static double price_of(int i) {
  double root = volatilities[i] * sqrt(times[i]);
  double d1 = (log(spots[i] / strikes[i]) + (rates[i] + volatilities[i] * volatilities[i] / 2) * times[i]) / root;
  double d2 = d1 - root, later = strikes[i] * exp(-rates[i] * times[i]);
  if (is_put[i])
    return later * normal(-d2) - spots[i] * normal(-d1);
  return spots[i] * normal(d1) - later * normal(d2);
}

// Whether a price is what the price of the opposite option says: a call and a put differ by what is paid later.
static int is_right(int i) {
  double later = strikes[i] * exp(-rates[i] * times[i]);
  double root = volatilities[i] * sqrt(times[i]);
  double d1 = (log(spots[i] / strikes[i]) + (rates[i] + volatilities[i] * volatilities[i] / 2) * times[i]) / root;
  double call = spots[i] * normal(d1) - later * normal(d1 - root);
  double error = prices[i] - (is_put[i] ? call - spots[i] + later : call);
  return error < 1e-9 && error > -1e-9;
}

static void *worker(void *arg) {
  int id = *(int *)arg; // CONST t1 load 0; CONST t2 load 1; CONST t3 load 2; CONST t4 load 3
  int block = option_count / thread_count; // CONST t1 load 4; CONST t4 load 4; NOT CONST t1 load 100
  int start = id * block, end = start + block;
  if (id == thread_count - 1) // TAKEN t1 false; TAKEN t2 false; TAKEN t3 false; TAKEN t4 true
    end = option_count;
  for (int run = 0; run < RUNS; run++)
    for (int i = start; i < end; i++) {
      prices[i] = price_of(i); // DISJOINT self
      priced[id]++;            // DISJOINT self
    }
  int errors = 0;
  for (int i = start; i < end; i++)
    errors += !is_right(i);
  pthread_mutex_lock(&error_lock);
  error_count += errors;
  reporters++; // CONST t1 load ?a; CONST t2 load ?b; CONST t3 load ?c; CONST t4 load ?d
  pthread_mutex_unlock(&error_lock);
  return NULL;
}

static void fill(void) {
  for (int i = 0; i < option_count; i++) {
    spots[i] = 40 + i * 7 % 60;
    strikes[i] = 50 + i * 3 % 40;
    rates[i] = 0.01 + i % 5 * 0.02;
    volatilities[i] = 0.1 + i % 7 * 0.05;
    times[i] = 0.25 * (1 + i % 4);
    is_put[i] = i % 3 == 0;
  }
}

int main(int argc, char *argv[]) {
  thread_count = argc > 1 ? atoi(argv[1]) : 4; // CONST t0 call 4
  option_count = argc > 2 ? atoi(argv[2]) : 100;
  if (thread_count < 1 || thread_count > MOST_THREADS || option_count < 0 || option_count > MOST_OPTIONS)
    return 2;
  fill();
  pthread_t threads[MOST_THREADS];
  int ids[MOST_THREADS];
  for (int i = 0; i < thread_count; i++) {
    ids[i] = i;
    pthread_create(&threads[i], NULL, worker, &ids[i]);
  }
  for (int i = 0; i < thread_count; i++)
    pthread_join(threads[i], NULL);
  double sum = 0;
  int all = 0;
  for (int i = 0; i < option_count; i++)
    sum += prices[i];
  for (int i = 0; i < thread_count; i++) // TRIPS t0 4
    all += priced[i];
  int told = reporters; // CONST t0 load 4
  printf("blackscholes: %d prices of %d options, sum %.6f, %d errors told by %d\n", all, option_count, sum, error_count, told);
  return 0;
}
