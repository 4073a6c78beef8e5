// Exceptions thrown across synchronizing calls, with locks that are given back on the way, and caught or passed on.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex outer, inner;
static long total;

__attribute__((noinline)) static long risky(long value, long limit) {
  std::lock_guard<std::mutex> guard(inner);
  total += value;
  if (value > limit)
    throw std::runtime_error("too much");
  return value * 2;
}

__attribute__((noinline)) static long middle(long value, long limit) {
  std::lock_guard<std::mutex> guard(outer);
  long first = risky(value, limit);
  return first + risky(first, limit);
}

static void work(long value, long limit, long *result) {
  try {
    *result = middle(value, limit);
  } catch (const std::exception &error) {
    std::lock_guard<std::mutex> guard(outer);
    *result = -1;
    total -= 1;
  }
}

int main(int count, char **arguments) {
  long value = count > 1 ? atoi(arguments[1]) : 3, limit = count > 2 ? atoi(arguments[2]) : 5;
  long results[2];
  std::thread first(work, value, limit, &results[0]);
  first.join();
  std::thread second(work, value + 1, limit * 10, &results[1]);
  second.join();
  std::printf("%ld %ld %ld\n", results[0], results[1], total);
  return 0;
}
