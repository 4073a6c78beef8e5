// C++: `cv.wait(lock, predicate)` is a loop like one in C; std::atomic's members are calls at -O0; an invoke that throws
// has not come to its callee's marker; the markers of inline functions count only in a whole program, where no other unit's
// copy can be taken.
// RUN: %clangxx -std=c++17 -g -O0 -S -emit-llvm %s -o %t.0.ll
// RUN: %clangxx -std=c++17 -g -O2 -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.1.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.0.ll 2>&1 | %FileCheck %s --check-prefixes=CHECK,OPEN
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs>' -disable-output %t.1.ll 2>&1 | %FileCheck %s --check-prefixes=CHECK,OPEN
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;whole-program>' -disable-output %t.0.ll 2>&1 | %FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-epochs;whole-program>' -disable-output %t.0.ll 2>&1 | %FileCheck %s --check-prefix=NONE
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -disable-output %t.0.ll
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers,verify<covsched-epochs>' -disable-output %t.1.ll
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers<whole-program>,verify<covsched-epochs;whole-program>,default<O2>' -disable-output %t.1.ll
#include <atomic>
#include <condition_variable>
#include <mutex>
extern std::mutex m;
extern std::condition_variable cv;
extern bool ready;
extern std::atomic<bool> flag;
extern std::atomic<int> counter;
extern int input;

// CHECK-DAG: loop {{.*}}condition_variable:{{[0-9]+}}:{{[0-9]+}} void std::condition_variable::wait<{{.*}}: trivial: only waits on a condition variable
void waits() {
  std::unique_lock<std::mutex> lock(m);
  cv.wait(lock, [] { return ready; });
}

// CHECK-DAG: loop {{.*}}epoch-cxx.cpp:[[@LINE+3]]:3 waits_by_hand(): trivial: only waits on a condition variable
void waits_by_hand() {
  std::unique_lock<std::mutex> lock(m);
  while (!ready)
    cv.wait(lock);
}

// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 spins(): spin
void spins() {
  while (!flag.load(std::memory_order_acquire))
    ;
}
// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 spins_by_operator(): spin
void spins_by_operator() {
  while (!flag)
    ;
}
// CHECK-DAG: loop {{.*}}:[[@LINE+3]]:3 takes_it(): spin
void takes_it() {
  bool expected = false;
  while (!flag.compare_exchange_weak(expected, true))
    expected = false;
}
// NONE-NOT: counts()
void counts() {
  for (int i = 0; i < 10; i++)
    counter++;
}

// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 locks(int): marker
void locks(int n) {
  for (int i = 0; i < n; i++)
    std::lock_guard<std::mutex> guard(m);
}

struct Inline {
  void run(int n) {
    for (int i = 0; i < n; i++) {
      m.lock();
      m.unlock();
    }
  }
};
// OPEN-DAG: loop {{.*}}:[[@LINE+3]]:3 calls_inline(int): marker
// WHOLE-DAG: loop {{.*}}:[[@LINE+2]]:3 calls_inline(int): covered: passes marker {{[0-9a-f]+}} each time round through Inline::run(int)
void calls_inline(int n) {
  for (int i = 0; i < n; i++)
    Inline().run(i);
}

// Defined here and nowhere else.
static void locks_then_throws(int n) {
  m.lock();
  m.unlock();
  if (n > 3)
    throw n;
  while (n--) {
    m.lock();
    m.unlock();
  }
}
// It may throw before it comes to its loop, and the exception ends in this one.
// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 catches(int): marker
void catches(int n) {
  for (int i = 0; i < n; i++) {
    try {
      locks_then_throws(i);
    } catch (int) {
    }
  }
}
// Here the exception leaves the loop.
// CHECK-DAG: loop {{.*}}:[[@LINE+3]]:5 catches_outside(int): covered: passes marker {{[0-9a-f]+}} each time round through locks_then_throws(int)
void catches_outside(int n) {
  try {
    for (int i = 0; i < n; i++)
      locks_then_throws(i);
  } catch (int) {
  }
}
// And here what cleans up.
struct Cleans {
  ~Cleans() { input++; }
};
// CHECK-DAG: loop {{.*}}:[[@LINE+2]]:3 cleans_up(int): covered
void cleans_up(int n) {
  for (int i = 0; i < n; i++) {
    Cleans cleans;
    locks_then_throws(i);
  }
}

// Recursion that an exception unwinds, with a lock to be given back: markers where it goes down, comes back, and lands.
// CHECK-DAG: recursion {{.*}}holds_a_lock(int){{.*}}: may synchronize at any depth
static void holds_a_lock(int n) {
  std::lock_guard<std::mutex> guard(m);
  if (n)
    holds_a_lock(n - 1);
}
void starts(int n) { holds_a_lock(n); }
