/* A stand-in for the runtime, for tests of the plugin alone: says what was called, with the site, and counts the
 * sites that were registered. STAND_IN_ACTIVE=1 in the environment switches the guarded markers on. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct registration {
  uint32_t version, size;
  const unsigned char *sites, *end;
  unsigned char *active;
};

static int depth;

static const char *name(const unsigned char *table, uint32_t strings, uint32_t offset) {
  return (const char *)table + strings + offset;
}

void covsched_register(const struct registration *r) {
  int tables = 0, sites = 0;
  for (const unsigned char *p = r->sites; p < r->end;) {
    uint32_t size, count, unit;
    if (memcmp(p, "CVSITES", 8)) {
      p += 8;
      continue;
    }
    memcpy(&size, p + 12, 4);
    memcpy(&count, p + 24, 4);
    memcpy(&unit, p + 32, 4);
    printf("unit %s: %u sites\n", name(p, 40 + 32 * count, unit), count);
    tables++, sites += count;
    p += size;
  }
  printf("registered version %u size %u: %d tables, %d sites\n", r->version, r->size, tables, sites);
  if (getenv("STAND_IN_ACTIVE"))
    *r->active = 1;
}

#define SAY(...) (printf(__VA_ARGS__), fflush(stdout))

int covsched_main_enter(uint64_t site) { return SAY("main_enter %016lx\n", site), 1; }
int covsched_thread_enter(uint64_t site) { return SAY("thread_enter %016lx\n", site), 1; }
void covsched_thread_exit(int outermost, uint64_t site) { SAY("thread_exit %d %016lx\n", outermost, site); }
int covsched_derived_enter(uint64_t site) { return SAY("derived_enter %016lx\n", site), depth++; }
void covsched_derived_leave(int to) { SAY("derived_leave %d\n", to), depth = to; }
int covsched_derived_depth(void) { return depth; }

int covsched_pthread_mutex_lock(pthread_mutex_t *m, uint64_t site) {
  return SAY("lock %016lx\n", site), pthread_mutex_lock(m);
}
int covsched_pthread_mutex_unlock(pthread_mutex_t *m, uint64_t site) {
  return SAY("unlock %016lx\n", site), pthread_mutex_unlock(m);
}
int covsched_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x, uint64_t site) {
  return SAY("create %016lx\n", site), pthread_create(t, a, f, x);
}
int covsched_pthread_join(pthread_t t, void **v, uint64_t site) {
  return SAY("join %016lx\n", site), pthread_join(t, v);
}
void covsched_exit(int status, uint64_t site) {
  SAY("exit %016lx\n", site), exit(status);
}
