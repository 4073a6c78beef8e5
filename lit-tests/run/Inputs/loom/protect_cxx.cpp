// As protect.c, for C++: exceptions, methods, templates, constructors, and functions that every unit has its own copy of.
#include "race.h"
#include <stdexcept>

struct Object {
  int inside = 0;
  long filler[6] = {};
  void enter();
  void leave();
};

__attribute__((noinline)) void Object::enter() {
  if (__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST))
    failure();
}
__attribute__((noinline)) void Object::leave() { __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST); }

static Object objects[4];
static volatile int choice;

// FILTER thrown: throwing(id) <> throwing(id)
__attribute__((noinline)) static void throwing(int id, long round) {
  objects[id].enter();
  delay();
  objects[id].leave();
  if (round % 2)
    throw std::runtime_error("odd");
  operation();
}
static void thrown(long round) {
  try {
    throwing(round % 3 == 0, round);
  } catch (const std::exception &) {
    choice = 1;
  }
}

// An exception that is thrown and caught inside of a function that calls itself; none passes a call of it.
// FILTER nested: climbing(depth - depth) <> climbing(depth - depth)
__attribute__((noinline)) static void climbing(int depth, long round) {
  if (depth == 0) {
    objects[0].enter();
    delay();
    objects[0].leave();
    return;
  }
  try {
    climbing(depth - 1, round);
    if (round % 2)
      throw round;
  } catch (long) {
    operation();
  }
}
static void nested(long round) { climbing(2, round); }

// FILTER method: Account::change(this) <> Account::change(this)
struct Account {
  Object *object;
  explicit Account(Object *object) : object(object) {}
  virtual ~Account() {}
  virtual void change(long round);
};
void Account::change(long round) {
  object->enter();
  delay();
  object->leave();
  choice = (int)round;
}
static Account accounts[2] = {Account(&objects[0]), Account(&objects[1])};
static void method(long round) {
  Account *volatile chosen = &accounts[round % 2];
  chosen->change(round);
}

// FILTER created: Held::Held(of) <> Held::Held(of)
struct Held {
  Object &object;
  __attribute__((noinline)) Held(Object *of, long round) : object(*of) {
    object.enter();
    delay();
    object.leave();
    choice = (int)round;
  }
};
static void created(long round) { Held held(&objects[round % 2], round); }

// FILTER guarded: {protect_cxx.cpp:[guarded-enter]; protect_cxx.cpp:[guarded-leave]} <> {protect_cxx.cpp:[guarded-enter]; protect_cxx.cpp:[guarded-leave]}
struct Guard {
  Guard() { objects[0].enter(); }
  ~Guard() { objects[0].leave(); }
};
static void guarded_body(long round) {
  Guard guard; // [guarded-enter]
  delay();
  if (round % 3 == 0)
    return;
  if (round % 3 == 1)
    throw round;
  operation();
} // [guarded-leave]
static void guarded(long round) {
  try {
    guarded_body(round);
  } catch (long) {
    choice = 2;
  }
}

// FILTER instance: "void changed<int>(int, long)"(id) <> "void changed<int>(int, long)"(id)
template <typename T> __attribute__((noinline)) void changed(T id, long round) {
  objects[(int)id].enter();
  delay();
  objects[(int)id].leave();
  choice = (int)round;
}
static void instance(long round) {
  changed<int>(round % 2, round);
  if (round < 0)
    changed<short>(1, round);
}

// FILTER reference: by_reference(&object) <> by_reference(&object)
__attribute__((noinline)) static void by_reference(Object &object, long round) {
  object.enter();
  delay();
  object.leave();
  choice = (int)round;
}
static void reference(long round) { by_reference(objects[round % 2], round); }

// FILTER returned: {protect_cxx.cpp:[returned-enter](id); protect_cxx.cpp:[returned-leave](id)} <> {protect_cxx.cpp:[returned-enter](id); protect_cxx.cpp:[returned-leave](id)}
static Object returned_object(int id, long round) {
  Object made;
  made.inside = (int)round;
  objects[id].enter(); // [returned-enter]
  delay();
  objects[id].leave(); // [returned-leave]
  return made;
}
static void returned(long round) { choice = returned_object(round % 2, round).inside; }

// FILTER caught: {protect_cxx.cpp:[caught-enter]; protect_cxx.cpp:[caught-leave], protect_cxx.cpp:[caught-catch]} <> {protect_cxx.cpp:[caught-enter]; protect_cxx.cpp:[caught-leave], protect_cxx.cpp:[caught-catch]}
__attribute__((noinline)) static void may_throw(long round) {
  delay();
  if (round % 2)
    throw round;
}
static void caught(long round) {
  try {
    objects[0].enter(); // [caught-enter]
    may_throw(round);
    objects[0].leave(); // [caught-leave]
  } catch (long) {
    objects[0].leave(); // [caught-catch]
  }
}

// FILTER lambda: protect_cxx.cpp:[lambda] <> protect_cxx.cpp:[lambda]
static void lambda(long round) {
  auto inside = [&] { objects[0].enter(); delay(); objects[0].leave(); }; // [lambda]
  inside();
  choice = (int)round;
}

// Exceptions that pass some of its calls and are caught in others: further out, and by turns in the same place.
// FILTER passed: falling(depth - depth) <> falling(depth - depth); timeout 300ms
// EXPECT passed: protects -O0 -O2precise
__attribute__((noinline)) static void falling(int depth, long round) {
  if (depth == 0) {
    objects[0].enter();
    delay();
    objects[0].leave();
    throw round;
  }
  if (depth != 3 && depth != 5) {
    falling(depth - 1, round);
    choice = depth;
    return;
  }
  for (int i = 0; i < 2; ++i)
    try {
      falling(depth - 1 - i, round);
    } catch (long) {
      operation();
    }
}
static void passed(long round) { falling(round % 2 ? 5 : 3, round); }

// The same, caught in a function between two calls, which may also be the outermost; each depth has its lock.
// FILTER between: sinking(depth) <> sinking(depth); timeout 300ms
// EXPECT between: protects
static void holds_out(int depth, long round);
__attribute__((noinline)) static void sinking(int depth, long round) {
  objects[depth].enter();
  delay();
  objects[depth].leave();
  if (depth == 3)
    throw round;
  holds_out(depth + 1, round);
  choice = depth;
}
__attribute__((noinline)) static void holds_out(int depth, long round) {
  try {
    sinking(depth, round);
  } catch (long) {
    operation();
  }
  choice = depth;
}
static void between(long round) { holds_out(1 + round % 3, round); }

static const struct {
  const char *name;
  void (*run)(long round);
} cases[] = {
    {"thrown", thrown},     {"nested", nested},     {"method", method},       {"created", created},   {"guarded", guarded},
    {"instance", instance}, {"reference", reference}, {"returned", returned}, {"caught", caught},     {"lambda", lambda},
    {"passed", passed},     {"between", between},
};

static void (*run)(long);

static void *worker(void *) {
  for (long round = 1; running(); ++round) {
    run(round);
    operation();
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 3);
  for (auto &one : cases)
    if (argc > 5 && strcmp(one.name, argv[5]) == 0)
      run = one.run;
  must(run != NULL, "the case");
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
