// A once routine that throws: the flag stays as it was, and another thread runs the routine. Who tried is printed.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::once_flag once;
static std::mutex lock;
static char tried[16];
static int tries;

static void routine(int me) {
  std::lock_guard<std::mutex> hold(lock);
  tried[tries++] = static_cast<char>('a' + me);
  if (tries < 3)
    throw std::runtime_error("not yet");
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i)
    threads.emplace_back([i] {
      try {
        std::call_once(once, routine, i);
      } catch (const std::runtime_error &) {
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  std::printf("%s\n", tried);
  return 0;
}
