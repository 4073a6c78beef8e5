// An interleaved sum: thread i of n has every nth element from the ith on. It writes the squares of its elements, their sum goes
// into a place that is as long as a cache line, and the total is made under a lock.
//
//   covsched cc -O2 -pthread interleaved.c -o interleaved
//   covsched record -o interleaved.sched -- ./interleaved 2 50
//   covsched specialize interleaved --schedule interleaved.sched --facts interleaved.json
//
// A schedule with two threads covers every number of elements. Under it one thread has the even elements and one the odd ones,
// and the total is first 0, then the sum of the thread that came first.
// RECORDED: 2 50
// COVERED: 2 999
// COVERED: 2 1
// LEAVES: 3 50
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 8, MOST_ELEMENTS = 1000, LINE = 64 };

struct place {
  long sum;
  int elements;
  char rest[LINE - sizeof(long) - sizeof(int)];
};

static int elements[MOST_ELEMENTS];
static long squares[MOST_ELEMENTS], cubes[MOST_ELEMENTS];
static struct place places[MOST_THREADS];
static int threads, size, next_id, order[MOST_THREADS];
static long total;
static pthread_mutex_t id_lock = PTHREAD_MUTEX_INITIALIZER, total_lock = PTHREAD_MUTEX_INITIALIZER;
static int finished;

static int take_id(void) {
  pthread_mutex_lock(&id_lock);
  int id = next_id; // CONST t1 load ?a; CONST t2 load ?b
  next_id = id + 1;
  pthread_mutex_unlock(&id_lock);
  return id;
}

static void *worker(void *unused) {
  int id = take_id();
  struct place *place = &places[id];
  for (int i = id; i < size; i += threads) {
    squares[i] = (long)elements[i] * elements[i]; // DISJOINT self
    place->sum += squares[i];                     // DISJOINT self
    place->elements++;                            // DISJOINT self
  }
  // The same the other way round: from the last of its elements down.
  int last = size - 1 - (size - 1 - id + threads) % threads;
  for (int i = last; i >= 0; i -= threads)
    cubes[i] = squares[i] * elements[i];
  pthread_mutex_lock(&total_lock);
  int rank = finished; // CONST t1 load ?c; CONST t2 load ?d
  finished = rank + 1;
  if (rank == 0)
    total = place->sum;
  else
    total += place->sum;
  order[rank] = id;
  pthread_mutex_unlock(&total_lock);
  return unused;
}

// The sums again, by one thread alone.
static int is_right(long squared, long cubed) {
  for (int i = 0; i < size; i++) {
    long element = elements[i];
    squared -= element * element;
    cubed -= element * element * element;
  }
  return squared == 0 && cubed == 0;
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 2; // CONST t0 call 2
  size = argc > 2 ? atoi(argv[2]) : 50;
  if (threads < 1 || threads > MOST_THREADS || size < 1 || size > MOST_ELEMENTS)
    return 2;
  for (int i = 0; i < size; i++)
    elements[i] = i * 7 % 31 - 15;
  pthread_t children[MOST_THREADS];
  for (int i = 0; i < threads; i++)
    pthread_create(&children[i], NULL, worker, NULL);
  for (int i = 0; i < threads; i++)
    pthread_join(children[i], NULL);
  int counted = 0, ids = 0;
  for (int i = 0; i < threads; i++) { // TRIPS t0 2
    counted += places[i].elements;
    ids += order[i];
  }
  long cubed = 0;
  for (int i = 0; i < size; i++)
    cubed += cubes[i];
  long sum = total; // NOT CONST t0 load
  int done = finished; // CONST t0 load 2
  printf("interleaved: %d elements by %d threads, ids %d, squares %ld, cubes %ld, %s\n", counted, done, ids, sum,
         cubed, is_right(sum, cubed) ? "right" : "wrong");
  return 0;
}
