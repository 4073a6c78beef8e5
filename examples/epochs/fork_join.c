// Fork and join with partitions, the shape of PARSEC's blackscholes: each thread prices its part of a list of options,
// some rounds over, and nothing else synchronizes. The only loops that do are the one that creates and the one that
// joins, which the number of threads bounds: no epoch marker is needed (Bergan, Table 3.3: 0 instead of 2).
//
//   covsched cc -O2 -pthread fork_join.c -lm -o fork_join && covsched epochs ./fork_join
//   ./fork_join [threads [options]]
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 64, ROUNDS = 10 };

struct option {
  double spot, strike, rate, volatility, years;
  int is_put;
};

struct part {
  long from, to;
};

static struct option *options;
static double *prices;

static double cumulative_normal(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

static double price_of(const struct option *o) {
  double spread = o->volatility * sqrt(o->years);
  double d1 = (log(o->spot / o->strike) + (o->rate + o->volatility * o->volatility / 2) * o->years) / spread;
  double d2 = d1 - spread;
  double future = o->strike * exp(-o->rate * o->years);
  if (o->is_put)
    return future * cumulative_normal(-d2) - o->spot * cumulative_normal(-d1);
  return o->spot * cumulative_normal(d1) - future * cumulative_normal(d2);
}

static void *price_part(void *arg) {
  const struct part *part = arg;
  for (int round = 0; round < ROUNDS; ++round)
    for (long i = part->from; i < part->to; ++i)
      prices[i] = price_of(&options[i]);
  return NULL;
}

static void make_options(long count) {
  unsigned seed = 1;
  for (long i = 0; i < count; ++i) {
    seed = seed * 1103515245u + 12345u;
    options[i].spot = 50 + seed % 100;
    options[i].strike = 50 + seed / 128 % 100;
    options[i].rate = 0.01 + seed / 1024 % 5 * 0.01;
    options[i].volatility = 0.1 + seed / 4096 % 5 * 0.1;
    options[i].years = 0.25 + seed / 8192 % 8 * 0.25;
    options[i].is_put = seed / 65536 % 2;
  }
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 4;
  long count = argc > 2 ? atol(argv[2]) : 1000;
  if (threads < 1 || threads > MOST_THREADS || count < 1) {
    fprintf(stderr, "usage: fork_join [threads (1 to %d) [options]]\n", MOST_THREADS);
    return 2;
  }
  options = calloc(count, sizeof *options);
  prices = calloc(count, sizeof *prices);
  if (!options || !prices)
    return 1;
  make_options(count);

  pthread_t ids[MOST_THREADS];
  struct part parts[MOST_THREADS];
  for (int i = 0; i < threads; ++i) {
    parts[i].from = count * i / threads;
    parts[i].to = count * (i + 1) / threads;
    if (pthread_create(&ids[i], NULL, price_part, &parts[i]) != 0) {
      perror("pthread_create");
      exit(1);
    }
  }
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);

  double sum = 0;
  for (long i = 0; i < count; ++i)
    sum += prices[i];
  printf("%ld options, mean price %.4f\n", count, sum / count);
  free(options);
  free(prices);
  return 0;
}
