#include <cstdio>
#include <mutex>

static std::mutex output;

extern "C" void report(int count) {
  std::lock_guard<std::mutex> guard(output);
  std::printf("count %d\n", count);
}
