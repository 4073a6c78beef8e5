// Functions of every kind that `covsched-lower` gives two versions, or cannot: the callers of each synchronization are the same at every
// level.
#include <cstdarg>
#include <cstdio>
#include <pthread.h>
#include <stdexcept>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static volatile int zero;

static NOINLINE void add(int n) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x40
  count += n;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x40
}

// Called by name only.
static NOINLINE int add_twice(int n) {
  add(n); // SCHED: call x2
  add(n); // SCHED: call x2
  return zero;
}

// Also called through a pointer.
static NOINLINE int add_once(int n) {
  add(n); // SCHED: call x4
  return zero;
}
static int (*volatile pointer)(int) = add_once;

// Calls itself, and not at its end.
static NOINLINE int add_down(int n) {
  if (n == 0)
    return zero;
  add(n);                         // SCHED: call x6
  return add_down(n - 1) + zero; // SCHED: call x4
}

static NOINLINE int add_all(int n, ...) {
  va_list arguments;
  va_start(arguments, n);
  for (int i = 0; i < n; ++i)
    add(va_arg(arguments, int)); // SCHED: call x6
  va_end(arguments);
  return zero;
}

// In a group of its own.
template <typename T> NOINLINE int add_as(T n) {
  add(static_cast<int>(n)); // SCHED: call x4
  return zero;
}

struct Large {
  long words[8];
};
static NOINLINE Large add_large(Large by_value, int a, int b, int c, int d, int e, int f, int on_stack) {
  add(a + b + c + d + e + f + on_stack); // SCHED: call x2
  by_value.words[7] += zero;
  return by_value;
}

static NOINLINE int throws(int n) {
  add(n); // SCHED: call x6
  if (n == 2)
    throw std::runtime_error("two");
  return zero;
}

static NOINLINE int catches(int n) {
  try {
    return throws(n); // SCHED: call x6
  } catch (const std::exception &) {
    add(n); // SCHED: call x2
    return 0;
  }
}

// Jumps to labels by a table of their addresses.
static NOINLINE int jumps(const char *code) {
  static const void *const labels[] = {&&end, &&one, &&two};
next:
  goto *labels[*code++ - '0'];
one:
  add(1); // SCHED: call x4
  goto next;
two:
  add(2); // SCHED: call x2
  goto next;
end:
  return zero;
}

static void *worker(void *) {
  int all = add_twice(1);           // SCHED: call x2
  all += pointer(2);                // SCHED: call x2
  all += add_once(3);               // SCHED: call x2
  all += add_down(3);               // SCHED: call x2
  all += add_all(3, 1, 2, 3);       // SCHED: call x2
  all += add_as(4L) + add_as('\5'); // SCHED: call x4
  Large large = {{0, 1, 2, 3, 4, 5, 6, 7}};
  all += add_large(large, 1, 2, 3, 4, 5, 6, 7).words[7] - 7; // SCHED: call x2
  for (int i = 1; i <= 3; ++i)
    all += catches(i); // SCHED: call x6
  all += jumps("1210"); // SCHED: call x2
  return reinterpret_cast<void *>(static_cast<long>(all));
}

int main() {
  pthread_t threads[2];
  for (pthread_t &thread : threads)
    pthread_create(&thread, nullptr, worker, nullptr); // SCHED: pthread_create x2
  long all = 0;
  for (pthread_t &thread : threads) {
    void *result;
    pthread_join(thread, &result); // SCHED: pthread_join x2
    all += reinterpret_cast<long>(result);
  }
  std::printf("%d %ld\n", count, all);
}
