// The other locks of C++: recursive, timed and scoped ones, condition_variable_any, jthread with a stop token,
// and std::async. What they do with pthread calls is recorded; a stop token and a future also use atomics, which
// are not.
//
//   covsched c++ -std=c++20 -O2 -pthread cxx_locks.cpp -o cxx_locks
//   covsched record -o cxx.sched -- ./cxx_locks && covsched show cxx.sched
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace {

std::recursive_mutex recursive;
std::timed_mutex timed;
std::shared_timed_mutex shared_timed;
std::mutex left, right;
int depth_sum, transfers;

int nest(int depth) {
  std::lock_guard<std::recursive_mutex> hold(recursive);
  depth_sum += depth;
  return depth == 0 ? 0 : 1 + nest(depth - 1);
}

void transfer(int count) {
  for (int i = 0; i < count; ++i) {
    std::scoped_lock hold(left, right);
    ++transfers;
  }
}

// Counts until it is asked to stop, and waits in between.
int count_until_stopped() {
  std::mutex lock;
  std::condition_variable_any changed;
  int seen = 0;
  bool ready = false;
  {
    std::jthread counter([&](std::stop_token stop) {
      std::unique_lock hold(lock);
      seen = 1;
      ready = true;
      changed.notify_all();
      changed.wait(hold, stop, [] { return false; });
      seen = 2;
    });
    std::unique_lock hold(lock);
    changed.wait(hold, [&] { return ready; });
  }
  return seen;
}

} // namespace

// SCHED-TOTAL: pthread_create x4
// SCHED-TOTAL: pthread_join x4
// SCHED-TOTAL: pthread_mutex_clocklock x2
// SCHED-TOTAL: pthread_mutex_trylock x10+
// SCHED-TOTAL: pthread_rwlock_clockwrlock x1 = 0
// SCHED-TOTAL: pthread_cond_wait x1+
int main() {
  using namespace std::chrono_literals;
  std::thread one(transfer, 5), two(transfer, 5);
  one.join(); // SCHED: pthread_join x1
  two.join(); // SCHED: pthread_join x1
  bool got = timed.try_lock_for(1s);
  bool again = std::async(std::launch::async, [] { return timed.try_lock_for(2ms); }).get();
  timed.unlock();
  bool wrote = shared_timed.try_lock_for(1s);
  shared_timed.unlock();
  int nested = nest(3);
  int stopped = count_until_stopped();
  std::printf("%d transfers, timed %d %d %d, nested %d %d, stopped %d\n", transfers, got, again, wrote, nested,
              depth_sum, stopped);
  return 0;
}
