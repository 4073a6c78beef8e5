// A thread pool in C++: std::thread, mutex, condition_variable, call_once and shared_mutex. Jobs may throw; the
// pool hands the exception to whoever asks for the result. What libstdc++ does out of line (making a thread,
// waiting, notifying) is recorded once, as the pthread call it stands for; what it does inline is recorded in
// its header, and the program's own line shows as a call that synchronizes inside.
//
//   covsched c++ -O2 -pthread thread_pool.cpp -o thread_pool
//   covsched record -o pool.sched -- ./thread_pool && covsched show pool.sched
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

class Pool {
public:
  explicit Pool(int size) { // SCHED: pthread_cond_init x1
    for (int i = 0; i < size; ++i)
      threads.emplace_back([this] { work(); });
  }

  ~Pool() {
    {
      std::lock_guard<std::mutex> hold(lock);
      closing = true;
    }
    changed.notify_all(); // SCHED: pthread_cond_broadcast x1
    for (std::thread &thread : threads)
      thread.join(); // SCHED: pthread_join x3
  } // SCHED: pthread_cond_destroy x1

  void submit(std::function<void()> job) {
    {
      std::lock_guard<std::mutex> hold(lock);
      jobs.push_back(std::move(job));
    }
    changed.notify_one(); // SCHED: pthread_cond_signal x12
  }

private:
  void work() {
    for (;;) {
      std::unique_lock<std::mutex> hold(lock);
      while (jobs.empty() && !closing)
        changed.wait(hold); // SCHED: pthread_cond_wait x0+
      if (jobs.empty())
        return;
      std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      hold.unlock();
      job();
    }
  }

  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  bool closing = false;
  std::vector<std::thread> threads;
};

// One result or one exception.
class Future { // SCHED: pthread_cond_init x12 SCHED: pthread_cond_destroy x12
public:
  void run(const std::function<int()> &job) {
    int got = 0;
    std::exception_ptr thrown;
    try {
      got = job();
    } catch (...) {
      thrown = std::current_exception();
    }
    std::lock_guard<std::mutex> hold(lock);
    value = got;
    error = thrown;
    ready = true;
    is_ready.notify_all(); // SCHED: pthread_cond_broadcast x12
  }

  int get() {
    std::unique_lock<std::mutex> hold(lock);
    is_ready.wait(hold, [this] { return ready; });
    if (error)
      std::rethrow_exception(error);
    return value;
  }

private:
  std::mutex lock;
  std::condition_variable is_ready;
  bool ready = false;
  int value = 0;
  std::exception_ptr error;
};

std::once_flag table_made;
std::map<int, int> table;
std::shared_mutex table_lock;

int lookup(int key) {
  std::call_once(table_made, [] {
    for (int i = 0; i < 8; ++i)
      table[i] = i * i;
  });
  {
    std::shared_lock<std::shared_mutex> hold(table_lock);
    auto found = table.find(key);
    if (found != table.end())
      return found->second;
  }
  std::unique_lock<std::shared_mutex> hold(table_lock);
  if (key % 2)
    throw std::out_of_range("no entry for " + std::to_string(key));
  return table[key] = key;
}

} // namespace

// SCHED-TOTAL: pthread_create x4
// SCHED-TOTAL: pthread_once x12
// SCHED-TOTAL: pthread_rwlock_rdlock x12
// SCHED-TOTAL: pthread_rwlock_wrlock x4
// SCHED-TOTAL: pthread_rwlock_unlock x16
// SCHED-TOTAL: pthread_cond_clockwait x1+
int main() {
  int sum = 0, failed = 0;
  std::vector<Future> futures(12);
  {
    Pool pool(3);
    for (int i = 0; i < 12; ++i)
      pool.submit([i, &futures] { futures[i].run([i] { return lookup(i); }); });
    for (Future &future : futures)
      try {
        sum += future.get();
      } catch (const std::out_of_range &error) {
        ++failed;
      }
  }
  std::mutex lock;
  std::condition_variable never; // SCHED: pthread_cond_init x1
  std::unique_lock<std::mutex> hold(lock);
  bool timed_out = !never.wait_for(hold, std::chrono::milliseconds(2), [] { return false; });
  bool ran = false;
  std::thread detached([&] {
    std::lock_guard<std::mutex> own(lock);
    ran = true;
    never.notify_one(); // SCHED: pthread_cond_signal x1
  });
  detached.detach(); // SCHED: pthread_detach x1
  while (!ran)
    never.wait(hold); // SCHED: pthread_cond_wait x1+
  std::printf("sum %d, failed %d, timed out %d\n", sum, failed, timed_out);
  return 0;
} // SCHED: pthread_cond_destroy x1
