// What the programs of this folder share. Each has a race, counts its operations and the failures that it sees itself, and
// runs until it is told to stop: by SIGTERM, or after SECONDS.
//
//   PROGRAM [SECONDS] [MICROSECONDS] [COUNTERS] [THREADS]
//
// SECONDS: 0 for no end. MICROSECONDS: the length of the delay in the racy window. COUNTERS: a file of 4096 bytes that is
// mapped, so that others can read the counters while the program runs; - for none. At the end it prints
// `N operations, M failures` and exits with 1 if there were failures.
#ifndef COVSCHED_LOOM_RACE_H
#define COVSCHED_LOOM_RACE_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_THREADS = 64, COUNTERS_SIZE = 4096 };

// The first words of the file; programs have their own in `more`.
struct counters {
  uint64_t operations, failures, more[14];
};

static struct counters *counters;
static int threads;
static long delay_length;
static volatile sig_atomic_t stopping;

static inline void add(uint64_t *counter, uint64_t number) { __atomic_fetch_add(counter, number, __ATOMIC_RELAXED); }
static inline void operation(void) { add(&counters->operations, 1); }
static inline void failure(void) { add(&counters->failures, 1); }
static inline int running(void) { return !stopping; }

// Where the race is: what comes after it happens some time later.
static inline void delay(void) {
  if (delay_length > 0)
    usleep((useconds_t)delay_length);
}

static void stop(int signal) {
  (void)signal;
  stopping = 1;
}

static inline void must(int ok, const char *what) {
  if (!ok) {
    perror(what);
    exit(2);
  }
}

static inline void begin(int argc, char *argv[], long default_delay, int default_threads) {
  int seconds = argc > 1 ? atoi(argv[1]) : 5;
  delay_length = argc > 2 ? atol(argv[2]) : default_delay;
  threads = argc > 4 ? atoi(argv[4]) : default_threads;
  if (seconds < 0 || delay_length < 0 || threads < 1 || threads > MAX_THREADS) {
    fprintf(stderr, "usage: %s [SECONDS] [MICROSECONDS] [COUNTERS] [THREADS (1 to %d)]\n", argv[0], MAX_THREADS);
    exit(2);
  }
  int file = -1, flags = MAP_SHARED | MAP_ANONYMOUS;
  if (argc > 3 && strcmp(argv[3], "-") != 0) {
    file = open(argv[3], O_RDWR);
    must(file >= 0 && ftruncate(file, COUNTERS_SIZE) == 0, argv[3]);
    flags = MAP_SHARED;
  }
  void *memory = mmap(NULL, COUNTERS_SIZE, PROT_READ | PROT_WRITE, flags, file, 0);
  must(memory != MAP_FAILED, "mmap");
  if (file >= 0)
    close(file);
  counters = (struct counters *)memory;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = stop;
  action.sa_flags = SA_RESTART;
  must(sigaction(SIGTERM, &action, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
  alarm((unsigned)seconds);
}

static inline int finish(void) {
  printf("%lu operations, %lu failures\n", (unsigned long)counters->operations, (unsigned long)counters->failures);
  return counters->failures != 0;
}

static inline pthread_t start(void *(*function)(void *), long argument) {
  pthread_t thread;
  must(pthread_create(&thread, NULL, function, (void *)argument) == 0, "pthread_create");
  return thread;
}

static inline void join(pthread_t thread) { must(pthread_join(thread, NULL) == 0, "pthread_join"); }

#endif
