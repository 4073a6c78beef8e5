// Exceptions of all shapes, for the differential test of block cloning: cleanups, nested handlers, rethrowing, exceptions out of
// constructors, loops, callbacks, virtual calls and threads; thread exit through frames with destructors; lambdas and generators
// by hand. Threads do the same and must get the same.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using u64 = std::uint64_t;
static thread_local u64 hash;

__attribute__((noinline)) static void note(u64 value) { hash = (hash ^ value) * 1099511628211u; }

struct Trace {
  explicit Trace(u64 number) : number(number) { note(number); }
  ~Trace() { note(number * 31); }
  u64 number;
};

struct Shape {
  virtual ~Shape() { note(1); }
  virtual u64 area(int n) const = 0;
};
struct Square : Shape {
  u64 area(int n) const override {
    if (n % 11 == 10)
      throw std::out_of_range("square");
    return u64(n) * n;
  }
};
struct Line : Shape {
  ~Line() override { note(2); }
  u64 area(int n) const override { return n % 7 == 6 ? throw n : 0; }
};

struct Half {
  explicit Half(int n) : first(3), second(4) {
    if (n % 3 == 0)
      throw std::runtime_error("half");
  }
  Trace first, second;
};

__attribute__((noinline)) static int deep(int n) {
  Trace trace(u64(n) + 100);
  if (n == 0)
    throw std::string("deep");
  return deep(n - 1) + 1;
}

__attribute__((noinline)) static int handlers(int n) {
  for (int i = 0;; ++i) {
    Trace loop(5);
    try {
      Trace inner(6);
      try {
        if (i == n)
          return i;
        if (i % 4 == 1)
          throw i;
        if (i % 4 == 2)
          throw 2.5 * i;
        if (i % 4 == 3)
          deep(i % 6);
        continue;
      } catch (int value) {
        note(u64(value));
        if (value % 8 == 5)
          throw;
      } catch (double value) {
        note(u64(value * 2));
        throw std::logic_error("double");
      }
    } catch (const std::logic_error &error) {
      note(error.what()[0]);
      if (i > 25)
        break;
    } catch (const std::string &text) {
      note(text.size());
    } catch (...) {
      note(7);
      try {
        throw;
      } catch (int value) {
        note(u64(value) + 1);
      }
    }
  }
  return -1;
}

__attribute__((noinline)) static void constructors(int n) {
  try {
    Half half(n);
    note(8);
    Half other(n + 1);
  } catch (const std::exception &error) {
    note(error.what()[1]);
  }
  try {
    std::vector<std::unique_ptr<Half>> all;
    for (int i = n * 3 + 1; i < n * 3 + 6; ++i)
      all.push_back(std::make_unique<Half>(i));
  } catch (const std::runtime_error &) {
    note(9);
  }
}

__attribute__((noinline)) static void callbacks(int n) {
  std::vector<int> numbers;
  for (int i = 0; i < 30; ++i)
    numbers.push_back(i * 7919 % 31);
  try {
    std::sort(numbers.begin(), numbers.end(), [&](int a, int b) {
      if (a + b == n + 40)
        throw a;
      return a < b;
    });
  } catch (int a) {
    note(u64(a));
    std::sort(numbers.begin(), numbers.end());
  }
  std::function<u64(u64)> step = [&](u64 x) { return x < 5 ? x : step(x - 1) + step(x - 2) % 17; };
  note(step(12));
  for (int number : numbers)
    note(u64(number));
}

static u64 noexcept_count(int n) noexcept {
  u64 sum = 0;
  for (int i = 0; i < n; ++i)
    try {
      sum += Square().area(i);
    } catch (const std::out_of_range &) {
      sum += 1000;
    }
  return sum;
}

__attribute__((noinline)) static void virtuals(int n) {
  std::unique_ptr<Shape> shapes[] = {std::make_unique<Square>(), std::make_unique<Line>(), std::make_unique<Square>()};
  for (auto &shape : shapes)
    try {
      note(shape->area(n));
    } catch (const std::out_of_range &error) {
      note(error.what()[0]);
    } catch (int value) {
      note(u64(value));
    }
}

static void *exits(void *argument) {
  Trace trace(11);
  *static_cast<u64 *>(argument) = 12;
  if (hash != 0)
    pthread_exit(argument);
  return nullptr;
}

static u64 run() {
  hash = 1;
  for (int round = 0; round < 25; ++round) {
    Trace whole{u64(round)};
    note(u64(handlers(round)));
    constructors(round);
    callbacks(round);
    virtuals(round);
    note(noexcept_count(round));
    try {
      deep(round % 9);
    } catch (const std::string &text) {
      note(text[0]);
    }
  }
  return hash;
}

int main() {
  std::vector<std::future<u64>> futures;
  for (int i = 0; i < 2; ++i)
    futures.push_back(std::async(std::launch::async, run));
  u64 own = run(), wrong = 0;
  for (auto &future : futures)
    wrong += future.get() != own;
  auto throws = std::async(std::launch::async, []() -> int { throw std::runtime_error("thread"); });
  try {
    throws.get();
  } catch (const std::runtime_error &error) {
    std::printf("%s\n", error.what());
  }
  u64 value = 0;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, exits, &value) != 0)
    return 2;
  pthread_join(thread, nullptr);
  std::printf("%016lx %lu %lu\n", own, wrong, value);
  return int(wrong);
}
