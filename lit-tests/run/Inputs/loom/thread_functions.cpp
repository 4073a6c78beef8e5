// Threads whose functions have the type of a signal handler, void(int): they are called through pointers, by std::thread and by the program,
// and by name from their own unit and another one (thread_functions_unit.cpp). None of that is an interruption.
// Failures: two in the region at once.
#include "race.h"
#include "thread_functions.h"
#include <atomic>
#include <thread>
#include <vector>

void elsewhere(int number);

static std::atomic<int> in_region;
static std::atomic<long> depth_seen;

__attribute__((noinline)) static void region() {
  if (in_region++)
    failure();
  delay();
  in_region--;
}

// Called through a pointer by a function that was itself.
static void (*volatile steps[2])(int);

static void descend(int depth) {
  region();
  operation();
  depth_seen += depth;
  if (depth > 0)
    steps[depth % 2](depth - 1);
}

__attribute__((noinline)) void by_name(int depth) { descend(depth); }

// These hardly ever leave functions of that type.
void work(int number) {
  while (running()) {
    steps[number % 2](3);
    by_name(1);
    in_both(1);
    elsewhere(number);
    delay();
  }
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 50, 6);
  steps[0] = steps[1] = descend;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back(work, i);
  for (std::thread &one : all)
    one.join();
  return finish();
}
