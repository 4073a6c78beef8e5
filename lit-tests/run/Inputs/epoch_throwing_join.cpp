// A std::thread's join or detach that throws leaves its hook without returning: the thread must go on to stop at
// markers, or the one that it waits for never goes on.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>

static std::atomic<int> done;
static std::mutex lock;
static long count;

int main() {
  for (int round = 0; round < 2; round++) {
    done = 0;
    std::thread worker([] {
      for (int i = 0; i < 200; i++) {
        std::lock_guard<std::mutex> guard(lock);
        count++;
      }
      done = 1;
    });
    try {
      std::thread nobody;
      round ? nobody.join() : nobody.detach();
    } catch (const std::system_error &) {
      puts("caught");
    }
    while (!done.load()) {
    }
    worker.join();
  }
  printf("%ld\n", count);
}
