// Exceptions that leave a function in the middle of what the schedule says that it does: through calls, past handlers of
// another type, past handlers and destructors, out of a function that itself did nothing yet, or with nobody to catch
// them. The first argument says where, the second whether.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex first_lock, second_lock;
static long total;

__attribute__((noinline)) static void step(std::mutex &lock, long value) {
  lock.lock();
  total += value;
  lock.unlock();
}

__attribute__((noinline)) static void may_throw(int how) {
  if (how == 1)
    throw std::runtime_error("thrown");
  if (how == 2)
    throw 7;
}

// Nothing lands here.
__attribute__((noinline)) static void plain(int how) {
  step(first_lock, 1);
  may_throw(how);
  step(second_lock, 2);
}

// The other type passes.
__attribute__((noinline)) static void other_type(int how) {
  step(first_lock, 1);
  try {
    may_throw(how);
  } catch (const std::exception &error) {
    total += 100;
  }
  step(second_lock, 2);
}

struct Adds {
  long value;
  ~Adds() { total += value; }
};

__attribute__((noinline)) static void destructor(int how) {
  Adds adds{1000};
  step(first_lock, 1);
  may_throw(how);
  step(second_lock, 2);
}

// A call that synchronizes, or not: only then may it throw.
__attribute__((noinline)) static void sometimes(int count, int how) {
  for (int i = 0; i < count; ++i)
    step(first_lock, 1);
  may_throw(how);
}

__attribute__((noinline)) static void called_again(int how) {
  for (int i = 0; i < 4; ++i)
    sometimes(i % 2, i == how - 3 ? 1 : 0);
  step(second_lock, 2);
}

static void work(const char *where, int how) {
  try {
    switch (where[0]) {
    case 'p': plain(how); break;
    case 'o': other_type(how); break;
    case 'd': destructor(how); break;
    case 'c': called_again(how); break;
    default: break;
    }
  } catch (...) {
    total += 10;
  }
  if (where[0] == 'u')
    plain(how);
}

int main(int count, char **arguments) {
  const char *where = count > 1 ? arguments[1] : "p";
  int how = count > 2 ? atoi(arguments[2]) : 0;
  std::thread worker(work, where, how);
  worker.join();
  std::printf("%ld\n", total);
  return 0;
}
