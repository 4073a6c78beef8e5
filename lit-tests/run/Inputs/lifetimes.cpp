// Objects that come and go: mutexes and condition variables on the heap and on stacks, whose memory is used again and
// again, by other threads too. Nothing tells a schedule where one std::mutex ends and the next one begins.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

enum { THREADS = 4, ROUNDS = 12 };

struct Cell {
  std::mutex lock;
  long value = 0;
};

std::mutex pool_lock;
std::deque<std::shared_ptr<Cell>> pool;
char order[THREADS * ROUNDS + 1];
int written;

// A promise of its own, on the stack of the one who waits.
void ask_helper(int me) {
  std::mutex lock;
  std::condition_variable done;
  int answer = 0;
  std::thread helper([&] {
    std::lock_guard<std::mutex> hold(lock);
    answer = me + 1;
    done.notify_one();
  });
  {
    std::unique_lock<std::mutex> hold(lock);
    done.wait(hold, [&] { return answer != 0; });
  }
  helper.join();
}

void worker(int me) {
  for (int i = 0; i < ROUNDS; ++i) {
    auto fresh = std::make_shared<Cell>();
    {
      std::lock_guard<std::mutex> hold(fresh->lock);
      fresh->value = me;
    }
    std::shared_ptr<Cell> old;
    {
      std::lock_guard<std::mutex> hold(pool_lock);
      order[written++] = static_cast<char>('a' + me);
      pool.push_back(fresh);
      if (pool.size() > 2) {
        old = pool.front();
        pool.pop_front();
      }
    }
    if (old) {
      std::lock_guard<std::mutex> hold(old->lock);
      old->value += me;
    }
    if (i % 4 == 0)
      ask_helper(me);
  }
}

} // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < THREADS; ++i)
    threads.emplace_back(worker, i);
  for (std::thread &thread : threads)
    thread.join();
  std::printf("%s\n", order);
  return 0;
}
