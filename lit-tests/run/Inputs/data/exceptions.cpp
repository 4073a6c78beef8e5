// Exceptions: a store before the throw counts, one after it does not; the handler's and the destructor's count.
// RECORDED: 5
// COVERED: 9
// COVERED: -3
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

static std::mutex lock;
static int input, before = 1, after = 1, handled = 1, destroyed = 1, fixed = 1, value = 1;

struct Fault {
  int value;
};
struct Guard {
  ~Guard() { destroyed = input; }
};

static void check(int number) {
  Guard guard;
  before = 2;
  if (number > 0)
    throw Fault{number};
  after = 2;
}

static void worker() {
  fixed = 3;
  before = 1;
  try {
    check(input);
    handled = 4;
  } catch (const Fault &fault) {
    handled = 5;
    value = fault.value;
  }
  int a = before;
  int b = after;     // NOT CONST t1 load
  int c = handled;   // NOT CONST t1 load
  int d = destroyed; // NOT CONST t1 load
  int e = value;     // NOT CONST t1 load
  int f = fixed;     // CONST t1 load 3
  std::lock_guard<std::mutex> guard(lock);
  std::printf("%d %d %d %d %d %d\n", a, b, c, d, e, f);
}

int main(int count, char **arguments) {
  input = count > 1 ? std::atoi(arguments[1]) : 5;
  std::thread thread(worker);
  thread.join();
  return 0;
}
