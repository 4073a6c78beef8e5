// Races in many forms, one a case: the first argument after race.h's says which. Above each is the filter that must protect it, or be
// refused. Marks are lines, as in examples/loom. Failures: two threads inside at once, or a count that is wrong.
#include "race.h"
#include <setjmp.h>

struct object {
  int inside, count;
  long filler[6];
};

static struct object objects[4];
static volatile int choice;

// Optimization leaves these where they are, and sees nothing of them.
__attribute__((noinline)) static void enter(struct object *object) {
  if (__atomic_fetch_add(&object->inside, 1, __ATOMIC_SEQ_CST))
    failure();
}
__attribute__((noinline)) static void leave(struct object *object) {
  __atomic_fetch_sub(&object->inside, 1, __ATOMIC_SEQ_CST);
}

__attribute__((noinline)) static void long_way_in(void) {
  enter(&objects[0]);
  delay();
  leave(&objects[0]);
}

// FILTER inlined: update_inlined(target) <> update_inlined(target)
static inline void update_inlined(struct object *target) {
  enter(target);
  delay();
  leave(target);
}
static void inlined(long round) { update_inlined(&objects[round % 2]); }

// FILTER one_line: {protect.c:[one-line]; protect.c:[one-line]} <> {protect.c:[one-line]; protect.c:[one-line]}
static void one_line(long round) {
  struct object *mine = &objects[0];
  if (round >= 0) { enter(mine); delay(); leave(mine); } // [one-line]
}

#define WITH(object)                                                                                                   \
  do {                                                                                                                 \
    enter(object);                                                                                                     \
    delay();                                                                                                           \
    leave(object);                                                                                                     \
  } while (0)

// FILTER macro: protect.c:[macro] <> protect.c:[macro]
static void macro(long round) {
  (void)round;
  WITH(&objects[0]); // [macro]
}

// A counter that may be kept in a register over the loop.
// FILTER hoisted: protect.c:[hoisted] <> protect.c:[hoisted]
static int hoisted_count;
static pthread_barrier_t together;
static void hoisted(long round) {
  if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD)
    hoisted_count = 0;
  pthread_barrier_wait(&together);
  for (int i = 0; i < 20000; ++i)
    hoisted_count += (int)round; // [hoisted]
  if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD && hoisted_count != 20000 * threads * (int)round)
    failure();
  pthread_barrier_wait(&together);
}

// FILTER early: {protect.c:[early-enter]; protect.c:[early-return], protect.c:[early-leave]} <> {protect.c:[early-enter]; protect.c:[early-return], protect.c:[early-leave]}
static int early_return(long round) {
  enter(&objects[0]); // [early-enter]
  delay();
  if (round % 3 == 0) {
    leave(&objects[0]); // [early-return]
    return 1;
  }
  operation();
  leave(&objects[0]); // [early-leave]
  return 0;
}
static void early(long round) { choice = early_return(round); }

// FILTER through: {protect.c:[through-0], protect.c:[through-1]; protect.c:[through-leave]} <> {protect.c:[through-0], protect.c:[through-1]; protect.c:[through-leave]}
static void through(long round) {
  switch (round % 3) {
  case 0:
    enter(&objects[0]); // [through-0]
    goto inside;
  case 1:
    enter(&objects[0]); // [through-1]
  inside:
    delay();
    leave(&objects[0]); // [through-leave]
    break;
  default:
    operation();
  }
}

// FILTER recursion: descend(target) <> descend(target)
__attribute__((noinline)) static void descend(struct object *target, int depth) {
  if (depth > 0) {
    descend(target, depth - 1);
    return;
  }
  enter(target);
  delay();
  leave(target);
}
static void recursion(long round) { descend(&objects[round % 2], 3); }

// Who is in the middle of it when the filter comes must leave the fast path, which calls itself without a test.
// FILTER stays: {protect.c:[stays-enter]; protect.c:[stays-leave]} <> {protect.c:[stays-enter]; protect.c:[stays-leave]}
// EXPECT stays: protects
__attribute__((noinline)) static int stay(struct object *target, int depth) {
  int calls = 0;
  do {
    if (depth > 0) {
      calls += stay(target, depth - 1);
      continue;
    }
    enter(target); // [stays-enter]
    delay();
    leave(target); // [stays-leave]
    operation();
  } while (depth > 1 && running());
  return calls + 1;
}
static void stays(long round) { choice = stay(&objects[round % 2], 2); }

// Small loops that do not count are unrolled: each copy of the line is protected.
// FILTER unrolled: {protect.c:[unrolled-enter]; protect.c:[unrolled-leave]} <> {protect.c:[unrolled-enter]; protect.c:[unrolled-leave]}
// EXPECT unrolled: protects
// FILTER unrolled_line: protect.c:[unrolled-line] <> protect.c:[unrolled-line]
// EXPECT unrolled_line: protects
static volatile int steps = 1000;
static void unrolled(long round) {
  int *inside = &objects[round % 2].inside;
  for (int i = 0; i < steps; ++i) {
    if (__atomic_fetch_add(inside, 1, __ATOMIC_SEQ_CST)) // [unrolled-enter]
      failure();
    __atomic_fetch_add(&objects[2].count, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_sub(inside, 1, __ATOMIC_SEQ_CST); // [unrolled-leave]
  }
}
static void unrolled_line(long round) {
  int *inside = &objects[round % 2].inside;
  for (int i = 0; i < steps; ++i) {
    if (__atomic_fetch_add(inside, 1, __ATOMIC_SEQ_CST)) failure(); __atomic_fetch_sub(inside, 1, __ATOMIC_SEQ_CST); // [unrolled-line]
    __atomic_fetch_add(&objects[2].count, 1, __ATOMIC_SEQ_CST);
  }
}

// FILTER span: {protect.c:[span-enter](id); protect.c:[span-leave](id)} <> {protect.c:[span-enter](id); protect.c:[span-leave](id)}
__attribute__((noinline)) static void open_table(int id) {
  enter(&objects[id]); // [span-enter]
}
__attribute__((noinline)) static void close_table(int id) {
  leave(&objects[id]); // [span-leave]
}
static void span(long round) {
  int id = round % 3;
  open_table(id);
  delay();
  close_table(id);
}

// FILTER lost: {protect.c:[lost-read]; protect.c:[lost-write]} <> {protect.c:[lost-read]; protect.c:[lost-write]}
static int lost_count;
static void lost(long round) {
  int old = lost_count; // [lost-read]
  delay();
  if (lost_count != old)
    failure();
  lost_count = old + (round > 0); // [lost-write]
}

// FILTER sunk: {protect.c:[sunk-a], protect.c:[sunk-b]; protect.c:[sunk-leave]} <> {protect.c:[sunk-a], protect.c:[sunk-b]; protect.c:[sunk-leave]}
static void sunk(long round) {
  if (round % 2) {
    choice = 1;
    enter(&objects[0]); // [sunk-a]
  } else {
    choice = 2;
    enter(&objects[0]); // [sunk-b]
  }
  delay();
  leave(&objects[0]); // [sunk-leave]
}

// Both copies may become one, which is of no line.
// FILTER merged: bump <> bump
static long merged_count;
static inline void bump(void) {
  long old = __atomic_load_n(&merged_count, __ATOMIC_RELAXED);
  delay();
  if (__atomic_load_n(&merged_count, __ATOMIC_RELAXED) != old)
    failure();
  __atomic_store_n(&merged_count, old + 1, __ATOMIC_RELAXED);
}
static void merged(long round) {
  if (round % 2)
    bump();
  else
    bump();
}

// FILTER step: step <> step
static long step_count;
static inline void step(void) { step_count++; }
static void step_case(long round) {
  if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD)
    step_count = 0;
  pthread_barrier_wait(&together);
  for (int i = 0; i < 20000; ++i)
    if (round % 2)
      step();
    else
      step();
  if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD && step_count != 20000 * threads)
    failure();
  pthread_barrier_wait(&together);
}

// Two copies become one, which is of no line; a third one is as it was.
// FILTER partly: take_one <> take_one
static int taken;
static inline void take_one(void) {
  int old = __atomic_load_n(&taken, __ATOMIC_RELAXED);
  delay();
  if (__atomic_exchange_n(&taken, old + 1, __ATOMIC_RELAXED) != old)
    failure();
}
__attribute__((noinline)) static void take_by_choice(long round) {
  if (round % 2)
    take_one();
  else
    take_one();
}
__attribute__((noinline)) static void take_once(void) { take_one(); }
static void partly(long round) {
  if (round % 5 == 0)
    take_once();
  else
    take_by_choice(round);
}

// The same for a line.
// FILTER partly_line: protect.c:[partly-line] <> protect.c:[partly-line]
static inline void take_in_line(void) {
  long_way_in(); // [partly-line]
}
__attribute__((noinline)) static void line_by_choice(long round) {
  if (round % 2)
    take_in_line();
  else
    take_in_line();
}
__attribute__((noinline)) static void line_once(void) { take_in_line(); }
static void partly_line(long round) {
  if (round % 5 == 0)
    line_once();
  else
    line_by_choice(round);
}

// The argument is not needed any more after optimization.
// FILTER unused: with_unused(key) <> with_unused(key)
__attribute__((noinline)) static void with_unused(long key) {
  (void)key;
  enter(&objects[0]);
  delay();
  leave(&objects[0]);
}
static void unused(long round) {
  (void)round;
  with_unused(7);
}

// The pointer may be replaced by what it points to.
// FILTER promoted: with_promoted(value) <> with_promoted(value)
__attribute__((noinline)) static int with_promoted(const int *value) {
  enter(&objects[0]);
  delay();
  leave(&objects[0]);
  return *value;
}
static void promoted(long round) {
  static int shared = 1;
  choice = with_promoted(&shared) + (int)round;
}

// FILTER record: with_record(&given) <> with_record(&given)
// EXPECT record: any
struct pair { long first; int second; };
__attribute__((noinline)) static void with_record(struct pair given, int id) {
  enter(&objects[id]);
  delay();
  leave(&objects[id]);
  choice = given.second;
}
static void record(long round) {
  struct pair given = {round, 1};
  with_record(given, 0);
}

// FILTER second: with_second(id) <> with_second(id)
__attribute__((noinline)) static void with_second(struct pair given, struct object large, int id) {
  enter(&objects[id]);
  delay();
  leave(&objects[id]);
  choice = given.second + large.count;
}
static void second(long round) {
  struct pair given = {round, 1};
  with_second(given, objects[3], (int)(round % 2));
}

// FILTER pointer: by_pointer(target) <> by_pointer(target)
static void by_pointer(struct object *target) {
  enter(target);
  delay();
  leave(target);
}
static void (*volatile called)(struct object *) = by_pointer;
static void pointer(long round) { called(&objects[round % 2]); }

// FILTER compared: compare <> compare
static int compare(const void *a, const void *b) {
  enter(&objects[0]);
  delay();
  leave(&objects[0]);
  return *(const int *)a - *(const int *)b;
}
static void compared(long round) {
  int numbers[3] = {3, (int)round, 1};
  qsort(numbers, 3, sizeof numbers[0], compare);
}

// FILTER jumped: {protect.c:[jumped-enter]; protect.c:[jumped-leave]} <> {protect.c:[jumped-enter]; protect.c:[jumped-leave]}
static __thread jmp_buf back;
__attribute__((noinline)) static void jump_deep(long round) {
  enter(&objects[0]); // [jumped-enter]
  delay();
  leave(&objects[0]);
  if (round % 2)
    longjmp(back, 1);
  operation(); // [jumped-leave]
}
__attribute__((noinline)) static void jumped(long round) {
  if (setjmp(back) == 0)
    jump_deep(round);
}

// FILTER continued: {protect.c:[continued-enter]; protect.c:[continued-next], protect.c:[continued-leave]} <> {protect.c:[continued-enter]; protect.c:[continued-next], protect.c:[continued-leave]}
static void continued(long round) {
  for (int i = 0; i < 4; ++i) {
    enter(&objects[0]); // [continued-enter]
    delay();
    if ((i + round) % 2) {
      leave(&objects[0]); // [continued-next]
      continue;
    }
    operation();
    leave(&objects[0]); // [continued-leave]
  }
}

// FILTER chosen: protect.c:[chosen] <> protect.c:[chosen]
__attribute__((noinline)) static int long_way(int id) {
  enter(&objects[id]);
  delay();
  leave(&objects[id]);
  return id;
}
static void chosen(long round) {
  choice = round % 2 ? long_way(0) : long_way(0) + 1; // [chosen]
}

// FILTER tail: tail_call(target) <> tail_call(target)
__attribute__((noinline)) static void tail_callee(struct object *target) {
  enter(target);
  delay();
  leave(target);
}
__attribute__((noinline)) static void tail_call(struct object *target) {
#if defined(__clang__)
  __attribute__((musttail)) return tail_callee(target);
#endif
}
static void tail(long round) { tail_call(&objects[round % 2]); }

// A local that has no value yet where the region begins.
// FILTER unborn: {protect.c:[unborn-enter](mine); protect.c:[unborn-leave](mine)} <> {protect.c:[unborn-enter](mine); protect.c:[unborn-leave](mine)}
// EXPECT unborn: refused
__attribute__((noinline)) static struct object *find(long round) { return &objects[round % 1]; }
static void unborn(long round) {
  struct object *mine = find(round); // [unborn-enter]
  enter(mine);
  delay();
  leave(mine); // [unborn-leave]
}

// FILTER changed: {protect.c:[changed-enter](at); protect.c:[changed-leave]} <> {protect.c:[changed-enter](at); protect.c:[changed-leave]}
static void changed(long round) {
  struct object *at = &objects[round % 2];
  enter(at); // [changed-enter]
  delay();
  leave(at);
  at = &objects[3];
  choice = at->count; // [changed-leave]
}

// FILTER looped: {protect.c:[looped-head]; protect.c:[looped-leave]} <> {protect.c:[looped-head]; protect.c:[looped-leave]}
// EXPECT looped: any
static void looped(long round) {
  enter(&objects[0]);
  for (int i = 0; i < round % 3; ++i) // [looped-head]
    delay();
  leave(&objects[0]); // [looped-leave]
}

// FILTER copied: {protect.c:[copied-write]; protect.c:[copied-read]} <> {protect.c:[copied-write]; protect.c:[copied-read]}
static struct object shared_record;
static void copied(long round) {
  struct object own = {.count = (int)round, .filler = {round, round, round, round, round, round}};
  shared_record = own; // [copied-write]
  delay();
  struct object seen = shared_record; // [copied-read]
  if (memcmp(&seen, &own, sizeof own))
    failure();
}

// What two of its lines read is read once, on neither: it is still in the function, and not on the line.
// FILTER whole: add_to(holder) <> add_to(holder)
// EXPECT whole: protects
// FILTER whole_line: protect.c:[whole-line] <> protect.c:[whole-line]
// EXPECT whole_line: any
// EXPECT whole_line: refused -O2 -O3
struct holder { struct object *object; };
static struct holder holders[2] = {{&objects[0]}, {&objects[1]}};
__attribute__((noinline)) void add_to(struct holder *holder, long which, long by) {
  enter(holder->object);
  delay();
  if (by & 1)
    holder->object->filler[which] += by; // [whole-line]
  else
    holder->object->filler[which + 1] -= by;
  leave(holder->object);
}
static void whole(long round) { add_to(&holders[round % 2], round % 5, round); }

// At -O3 the caller reads, and gives the value.
// FILTER given: take_given <> take_given
// EXPECT given: protects
// EXPECT given: refused -O3
__attribute__((noinline)) static int take_given(const int *value) {
  int seen = *value;
  enter(&objects[2]);
  delay();
  leave(&objects[2]);
  return seen;
}
static void given(long round) { choice = take_given(&objects[round % 2].count); }

static const struct {
  const char *name;
  void (*run)(long round);
} cases[] = {
    {"inlined", inlined}, {"one_line", one_line}, {"macro", macro},         {"hoisted", hoisted},   {"early", early},
    {"through", through}, {"recursion", recursion}, {"span", span},         {"sunk", sunk},         {"merged", merged},
    {"step", step_case},  {"unused", unused},       {"promoted", promoted}, {"record", record},     {"second", second},
    {"pointer", pointer}, {"compared", compared},   {"jumped", jumped},     {"continued", continued}, {"chosen", chosen},
    {"tail", tail},       {"unborn", unborn},       {"changed", changed},   {"looped", looped},     {"copied", copied},
    {"lost", lost},       {"partly", partly},       {"partly_line", partly_line}, {"stays", stays},
    {"unrolled", unrolled}, {"unrolled_line", unrolled_line}, {"whole", whole}, {"whole_line", whole},
    {"given", given},
};

static void (*run)(long);

static void *worker(void *argument) {
  long last = 1 << 20;
  for (long round = 1; round < last && (run == hoisted || run == step_case || running()); ++round) {
    run(run == hoisted || run == step_case || run == copied ? (run == copied ? (long)argument * 1000 + round % 1000 : round) : round);
    operation();
    if (run == hoisted || run == step_case) {
      // All leave in the same round.
      if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD)
        choice = !running();
      pthread_barrier_wait(&together);
      if (choice)
        break;
    }
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 3);
  const char *wanted = argc > 5 ? argv[5] : "";
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    if (strcmp(cases[i].name, wanted) == 0)
      run = cases[i].run;
  must(run != NULL, "the case");
  pthread_barrier_init(&together, NULL, (unsigned)threads);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
