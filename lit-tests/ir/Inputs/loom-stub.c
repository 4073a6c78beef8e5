// Stands for loom's runtime in tests of the pass: it has no engine and no filters, but checks what code promises, and
// LOOM_STUB=fast|slow|flip says which way functions go.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEEPS __attribute__((preserve_all))

struct outer { uintptr_t at; struct outer *next; };
struct unit {
  uint32_t version, size;
  uint64_t hash;
  uint64_t *functions;
  unsigned char *locations;
  uintptr_t *slots, *calls;
  const uint64_t *callees, *defined;
  uint32_t function_count, location_count, slot_count, slot_base, call_count, defined_count;
};

_Thread_local uintptr_t covsched_loom_at __attribute__((tls_model("initial-exec")));
unsigned char covsched_loom_pending;

static struct unit *first, *last;
static int flips;
static volatile unsigned long checks, slots, reacquires, enters;

static void fail(const char *what) {
  fprintf(stderr, "loom stub: %s (at = %#lx)\n", what, (unsigned long)covsched_loom_at);
  abort();
}

static unsigned long next_random(void) {
  static unsigned long state = 88172645463325252ul;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

static void flip(void) {
  for (struct unit *unit = first; unit < last; ++unit) {
    unsigned long bits = next_random();
    for (uint32_t i = 0; i < unit->function_count; ++i, bits = bits >> 2 | bits << 62)
      __atomic_store_n(&unit->functions[i], bits & 3 ? bits & 3 | ~7ul : 0, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&covsched_loom_pending, next_random() & 1, __ATOMIC_RELAXED);
}

static void maybe_flip(void) {
  if (flips && next_random() % 4 == 0)
    flip();
}

static void *flipper(void *unused) {
  for (;;) {
    flip();
    nanosleep(&(struct timespec){0, 20000}, 0);
  }
  return unused;
}

static int is_location(const unsigned char *location) {
  for (struct unit *unit = first; unit < last; ++unit)
    if (location >= unit->locations && location < unit->locations + unit->slot_base)
      return 1;
  return 0;
}

static void at_end(void) {
  if (getenv("LOOM_STUB_COUNT"))
    fprintf(stderr, "checks %d slots %d reacquires %d enters %d\n", checks > 0, slots > 0, reacquires > 0, enters > 0);
}

void covsched_loom_unregister(struct unit *begin, struct unit *end) {
  if (begin != first || end != last)
    fail("other units leave than came");
}

void covsched_loom_register(struct unit *begin, struct unit *end) {
  if (sizeof(struct unit) != 88 || (char *)end - (char *)begin < 88)
    fail("no units");
  for (struct unit *unit = begin; unit < end; ++unit) {
    if (unit->version != 2 || unit->size != 88 || unit->slot_base + unit->slot_count != unit->location_count)
      fail("a damaged unit");
    for (uint32_t i = 0; i < unit->call_count; ++i) {
      if (!unit->callees[i] || (unsigned char *)unit->calls[i] < unit->locations ||
          (unsigned char *)unit->calls[i] >= unit->locations + unit->slot_base)
        fail("a damaged call cell");
      for (struct unit *other = begin; other < end; ++other)
        for (uint32_t j = 0; j < other->defined_count; ++j)
          if (other->defined[j] == unit->callees[i])
            unit->calls[i] = 1;
    }
  }
  first = begin, last = end;
  const char *mode = getenv("LOOM_STUB");
  if (mode && !strcmp(mode, "slow"))
    for (struct unit *unit = begin; unit < end; ++unit)
      for (uint32_t i = 0; i < unit->function_count; ++i)
        unit->functions[i] = 1 | ~7ul;
  if (mode && !strcmp(mode, "flip")) {
    flips = 1;
    flip();
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (!getenv("LOOM_STUB_NO_THREAD"))
      pthread_create(&thread, &attr, flipper, 0);
  }
  atexit(at_end);
}

KEEPS void covsched_loom_check(const unsigned char *location) {
  if (covsched_loom_at != 1)
    fail("a check while released");
  if (!is_location(location))
    fail("a check without a location");
  checks = checks + 1;
  maybe_flip();
}

KEEPS void covsched_loom_reacquire(const unsigned char *location) {
  if (covsched_loom_at != 1)
    fail("a re-acquire while released");
  if (!is_location(location))
    fail("a re-acquire without a location");
  reacquires = reacquires + 1;
  maybe_flip();
}

KEEPS void covsched_loom_slot(uintptr_t *cell, void *frame) {
  (void)frame;
  if (covsched_loom_at != 1)
    fail("a slot while released");
  for (struct unit *unit = first; unit < last; ++unit)
    if (cell >= unit->slots && cell < unit->slots + unit->slot_count) {
      slots = slots + 1;
      maybe_flip();
      return;
    }
  fail("a slot without a cell");
}

void covsched_loom_enter(struct outer *outer) {
  if (covsched_loom_at == 1)
    fail("entered while running");
  outer->at = covsched_loom_at;
  covsched_loom_at = 1;
  enters = enters + 1;
}

void covsched_loom_handler_enter(struct outer *outer) {
  outer->at = covsched_loom_at;
  covsched_loom_at = 1;
  enters = enters + 1;
}

void covsched_loom_leave(struct outer *outer) { covsched_loom_at = outer->at; }
