// A switch with a synchronization in some of its cases, values that go from PHI to PHI around synchronizations, and a call
// that synchronizes and may throw.
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;

static void by_case(int input) __attribute__((noinline));
static void by_case(int input) {
  switch (input) {
  case 1:
  case 2:
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    break;
  case 3:
    pthread_mutex_lock(&two);
    pthread_mutex_unlock(&two);
    break;
  default:
    break;
  }
}

// The Fibonacci numbers: each round moves the values on.
static long chain(int rounds) __attribute__((noinline));
static long chain(int rounds) {
  long a = 0, b = 1;
  for (int i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&one);
    long next = a + b;
    a = b;
    b = next;
    pthread_mutex_unlock(&one);
  }
  return a;
}

static void check(int input) __attribute__((noinline));
static void check(int input) {
  pthread_mutex_lock(&two);
  pthread_mutex_unlock(&two);
  if (input > 5)
    throw input;
}

static int caught(int input) __attribute__((noinline));
static int caught(int input) {
  try {
    check(input);
    return 0;
  } catch (int value) {
    return value;
  }
}

int main(int count, char **arguments) {
  int input = count > 1 ? atoi(arguments[1]) : 1;
  by_case(input);
  long value = chain(input);
  printf("%ld %d\n", value, caught(input));
  return 0;
}
