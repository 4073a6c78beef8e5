// What C++ waits for without a hook, while others stop at epoch markers: futures, the guard of a local static, a
// latch of atomics, call_once with a routine that stops, a shared lock.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex lock;
static std::shared_mutex shared;
static int total;

static void work(int rounds) {
  for (int i = 0; i < rounds; i++) {
    std::lock_guard<std::mutex> held(lock);
    total++;
  }
}

// The first caller runs this; the others wait for the guard meanwhile.
struct Table {
  int size;
  Table() : size(0) {
    for (int i = 0; i < 5; i++) {
      work(1);
      size++;
    }
  }
};

static int local_static() {
  static Table table;
  return table.size;
}

static std::once_flag once;
static std::atomic<int> attempts, ready;

static void routine() {
  work(3);
  if (++attempts < 3) throw std::runtime_error("again");
}

static int part(int number) {
  ready++;
  while (ready < 4) {
  }
  int size = local_static();
  for (;;) {
    try {
      std::call_once(once, routine);
      break;
    } catch (std::runtime_error &) {
    }
  }
  for (int i = 0; i < 10; i++) {
    work(2);
    if (i % 3 == number % 3) {
      std::unique_lock<std::shared_mutex> writes(shared);
      total += 0;
    } else {
      std::shared_lock<std::shared_mutex> reads(shared);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return size;
}

int main() {
  std::vector<std::future<int>> parts;
  for (int i = 0; i < 4; i++) parts.push_back(std::async(std::launch::async, part, i));
  int sizes = 0;
  for (auto &future : parts) sizes += future.get();

  std::promise<int> promise;
  std::future<int> answer = promise.get_future();
  std::thread asker([&] {
    work(5);
    promise.set_value(42);
  });
  int answered = answer.get();
  asker.join();
  std::printf("%d %d %d\n", sizes, total, answered);
}
