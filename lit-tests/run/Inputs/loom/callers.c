// A wrapper in which threads block is called from a region and from elsewhere. A background thread waits there for work, most of the
// time for ever; a visitor comes there from inside of the region, in the way that a counter says. Only the latter is in a filter's way.
// Readers go round and round in a helper that the region calls too, and never come out of it before the end.
// Counters: 0: the way; 1: a visitor is to come, or is there; 2: it blocks; 3: it may go; 4: the background thread has work to do;
// 5: how often it had some.
#include "race.h"
#include <sched.h>

#define APART __attribute__((noinline))

enum { QUICK, DIRECT, THROUGH_OTHERS, INLINED, BY_POINTER, BY_POINTER_LAST, LAST, BY_LIBRARY, DEEP, IN_HANDLER, RUNS };

struct gate {
  pthread_mutex_t mutex;
  pthread_cond_t opened;
  int is_open;
};

static struct gate work = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static struct gate way_out = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static int inside;

static void open_gate(struct gate *gate) {
  pthread_mutex_lock(&gate->mutex);
  gate->is_open = 1;
  pthread_cond_signal(&gate->opened);
  pthread_mutex_unlock(&gate->mutex);
}

// The wrapper.
APART static void wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex) {
  pthread_cond_wait(condition, mutex); // [blocks]
}

APART int wait_for(struct gate *gate) {
  pthread_mutex_lock(&gate->mutex);
  if (gate == &way_out)
    __atomic_store_n(&counters->more[2], 1, __ATOMIC_SEQ_CST);
  while (!gate->is_open)
    wait_until(&gate->opened, &gate->mutex);
  gate->is_open = 0;
  pthread_mutex_unlock(&gate->mutex);
  return 1;
}

int (*volatile wait_by_pointer)(struct gate *) = wait_for;

// For calls that come last, of which optimization makes jumps: the region then has no frame, and all that it jumped to counts as inside.
APART static int wait_last(struct gate *gate, int number) {
  pthread_mutex_lock(&gate->mutex);
  __atomic_store_n(&counters->more[2], 1, __ATOMIC_SEQ_CST);
  while (!gate->is_open)
    wait_until(&gate->opened, &gate->mutex);
  gate->is_open = 0;
  pthread_mutex_unlock(&gate->mutex);
  return number;
}

APART static int jump_on(struct gate *gate, int number) { return wait_last(gate, number + 1); }

int (*volatile wait_last_by_pointer)(struct gate *, int) = wait_last;

APART static int second(struct gate *gate) { return wait_for(gate) + 1; }

APART static int first(struct gate *gate) { return second(gate) + 1; }

__attribute__((always_inline)) static inline int inlined(struct gate *gate) { return wait_for(gate) + 3; }

APART static int deep(struct gate *gate, int depth) {
  volatile char room[512];
  room[0] = (char)depth;
  return (depth == 0 ? wait_for(gate) : deep(gate, depth - 1)) + room[0];
}

// The helper: round a ring, until told.
struct node {
  struct node *next;
  uint64_t passed;
};

APART static uint64_t go_round(struct node *node, const int *end) {
  uint64_t passed = 0;
  while (!__atomic_load_n(end, __ATOMIC_RELAXED)) { // [runs]
    passed += ++node->passed;
    node = node->next;
  }
  return passed;
}

static int readers_end, visitor_ends;

static uint64_t read_all(const int *end) {
  struct node ring[3] = {{&ring[1], 0}, {&ring[2], 0}, {&ring[0], 0}};
  return go_round(ring, end);
}

static void *reader(void *unused) {
  uint64_t passed = read_all(&readers_end);
  return passed != 0 ? unused : NULL;
}

static int compare(const void *a, const void *b) {
  wait_for(&way_out);
  return *(const int *)a - *(const int *)b;
}

// More than one thread in here at a time is a failure.
static void use(void) {
  if (__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST) != 0)
    failure();
  delay();
  __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
  operation();
}

APART int region(int way) {
  int numbers[2] = {2, 1};
  int got = 0;
  if (way == QUICK)
    use();
  else if (way == DIRECT)
    got = wait_for(&way_out) + 2;
  else if (way == THROUGH_OTHERS)
    got = first(&way_out) + 2;
  else if (way == INLINED)
    got = inlined(&way_out) + 2;
  else if (way == BY_POINTER)
    got = wait_by_pointer(&way_out) + 2;
  else if (way == BY_LIBRARY)
    qsort(numbers, 2, sizeof *numbers, compare);
  else if (way == RUNS) {
    __atomic_store_n(&counters->more[2], 1, __ATOMIC_SEQ_CST);
    got = read_all(&visitor_ends) != 0;
  } else if (way == DEEP)
    got = deep(&way_out, 300) + 2;
  else if (way == BY_POINTER_LAST)
    return wait_last_by_pointer(&way_out, 1);
  else if (way == LAST)
    return jump_on(&way_out, 1);
  return got + numbers[0];
}

static void *worker(void *unused) {
  while (running()) {
    region(QUICK);
    sched_yield();
  }
  return unused;
}

static void *visitor(void *unused) {
  while (running()) {
    while (running() && !__atomic_load_n(&counters->more[1], __ATOMIC_SEQ_CST))
      usleep(1000);
    if (!running())
      break;
    if (counters->more[0] == IN_HANDLER)
      raise(SIGUSR1);
    else
      region((int)counters->more[0]);
    __atomic_store_n(&counters->more[1], 0, __ATOMIC_SEQ_CST);
  }
  return unused;
}

// A signal handler may have come from anywhere.
static void handler(int signal) {
  (void)signal;
  wait_for(&way_out);
}

static void *background(void *unused) {
  while (running()) {
    wait_for(&work);
#ifndef NEVER_ENTERS
    for (int count = 0; running() && count < 50; ++count)
      region(QUICK);
#endif
    add(&counters->more[5], 1);
  }
  return unused;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 2);
  signal(SIGUSR1, handler);
  pthread_t waits = start(background, 0), visits = start(visitor, 0), workers[MAX_THREADS], reads = start(reader, 0);
  for (int i = 0; i < threads; ++i)
    workers[i] = start(worker, 0);
  while (running()) {
    if (__atomic_exchange_n(&counters->more[3], 0, __ATOMIC_SEQ_CST)) {
      if (counters->more[0] == RUNS)
        __atomic_store_n(&visitor_ends, 1, __ATOMIC_RELAXED);
      else
        open_gate(&way_out);
    }
    if (__atomic_exchange_n(&counters->more[4], 0, __ATOMIC_SEQ_CST))
      open_gate(&work);
    usleep(1000);
  }
  for (int i = 0; i < threads; ++i)
    join(workers[i]);
  __atomic_store_n(&visitor_ends, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&readers_end, 1, __ATOMIC_RELAXED);
  open_gate(&way_out);
  open_gate(&work);
  join(visits);
  join(reads);
  join(waits);
  return finish();
}
