// libstdc++'s timed waits look at the clock, not only at the result of the call inside.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

static std::mutex lock;
static std::condition_variable changed;
static bool ready, never;

static const char *word(std::cv_status status) { return status == std::cv_status::timeout ? "timeout" : "no timeout"; }

int main() {
  std::unique_lock<std::mutex> hold(lock);
  auto start = Clock::now();
  auto status = std::cv_status::no_timeout;
  while (status == std::cv_status::no_timeout)
    status = changed.wait_until(hold, start + 30ms);
  std::printf("wait_until: %s, %s\n", word(status), Clock::now() - start >= 30ms ? "late" : "early");

  start = Clock::now();
  bool seen = changed.wait_for(hold, 30ms, [] { return never; });
  std::printf("wait_for: %s, %s\n", seen ? "seen" : "not seen", Clock::now() - start >= 30ms ? "late" : "early");

  start = Clock::now();
  auto system_start = std::chrono::system_clock::now();
  seen = changed.wait_until(hold, system_start + 30ms, [] { return never; });
  std::printf("system clock: %s, %s\n", seen ? "seen" : "not seen",
              std::chrono::system_clock::now() - system_start >= 30ms ? "late" : "early");

  std::thread helper([] {
    std::lock_guard<std::mutex> own(lock);
    ready = true;
    changed.notify_all();
  });
  start = Clock::now();
  seen = changed.wait_for(hold, 60s, [] { return ready; });
  std::printf("in time: %s, %s\n", seen ? "seen" : "not seen", Clock::now() - start < 50s ? "early" : "late");
  hold.unlock();
  helper.join();
  return 0;
}
