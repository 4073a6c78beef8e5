// A downloader that gets one file in several ranges at once, in the manner of aget: each thread has its range and writes what
// it gets to its place; the progress of all is counted under a lock.
//
//   covsched cc -O2 -pthread downloader.c -o downloader
//   covsched record -o downloader.sched -- ./downloader 3 1000
//   covsched specialize downloader --schedule downloader.sched --facts downloader.json
//
// A schedule with three threads covers every size of the file. Under it the ranges do not meet, the last thread gets what is
// left over, and how many threads have finished is known to each that does.
// RECORDED: 3 1000
// COVERED: 3 4095
// COVERED: 3 5
// LEAVES: 2 1000
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 8, MOST_BYTES = 4096, PACKET = 100 };

// What each thread knows.
struct request {
  long first, last; // of the range, the last not included
  long written, lost;
  int number;
};

static unsigned char server[MOST_BYTES], file[MOST_BYTES];
static struct request requests[MOST_THREADS];
static pthread_t children[MOST_THREADS];
static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;
static long progress;
static int threads, finished;

// Gives some bytes of the file, as many as fit into a packet; or none: some packets are lost when they are first asked for.
static long receive(long offset, long last, int attempt, unsigned char *packet) {
  if (attempt == 0 && offset / PACKET % 4 == 3)
    return 0;
  long count = last - offset < PACKET ? last - offset : PACKET;
  memcpy(packet, &server[offset], (size_t)count);
  return count;
}

static void *get(void *arg) {
  struct request *request = arg;
  unsigned char packet[PACKET];
  long first = request->first, last = request->last;
  for (long offset = first; offset < last; offset += PACKET) {
    int attempt = 0;
    long count = receive(offset, last, attempt, packet);
    while (count == 0) {
      request->lost++; // DISJOINT self
      count = receive(offset, last, ++attempt, packet);
    }
    for (long i = offset; i < last && i < offset + count; i++)
      file[i] = packet[i - offset]; // DISJOINT self
    request->written += count;      // DISJOINT self
  }
  pthread_mutex_lock(&progress_lock);
  progress += request->written;
  int rank = finished++; // CONST t1 load ?a; CONST t2 load ?b; CONST t3 load ?c
  pthread_mutex_unlock(&progress_lock);
  return rank + 1 == threads ? arg : NULL;
}

static void split(long size) {
  long part = size / threads;
  for (int i = 0; i < threads; i++) { // TRIPS t0 3
    requests[i].number = i;
    requests[i].first = i * part;
    requests[i].last = (i + 1) * part;
  }
  requests[threads - 1].last = size;
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 3; // CONST t0 call 3
  long size = argc > 2 ? atoi(argv[2]) : 1000;
  if (threads < 1 || threads > MOST_THREADS || size < 0 || size > MOST_BYTES)
    return 2;
  for (long i = 0; i < size; i++)
    server[i] = (unsigned char)(i * i % 251);
  split(size);
  for (int i = 0; i < threads; i++)
    pthread_create(&children[i], NULL, get, &requests[i]);
  int last_ones = 0;
  for (int i = 0; i < threads; i++) {
    void *was_last;
    pthread_join(children[i], &was_last);
    last_ones += was_last != NULL;
  }
  int all = finished;   // CONST t0 load 3
  long got = progress;  // NOT CONST t0 load
  long lost = 0;
  for (int i = 0; i < threads; i++) // TRIPS t0 3
    lost += requests[i].lost;
  printf("downloader: %ld bytes by %d threads, %ld packets were lost, %d was last, %s\n", got, all, lost, last_ones,
         memcmp(server, file, (size_t)size) == 0 ? "right" : "wrong");
  return 0;
}
