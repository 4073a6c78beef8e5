// Switches, PHI chains, values that live across several segments, allocas in loops and address-taken locals.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static long total;

__attribute__((noinline)) static void fill(long *values, int number, long seed) {
  for (int i = 0; i < number; i++)
    values[i] = seed * 31 + i;
}

static long step(int kind, long a, long b) {
  long c = a < b ? a * 3 : b * 5, d = c;
  switch (kind % 5) {
  case 0:
    pthread_mutex_lock(&lock);
    total += c;
    pthread_mutex_unlock(&lock);
    d = c + 1;
    break;
  case 1:
    d = a ? b ? c : a : b;
    __attribute__((fallthrough));
  case 2:
    pthread_rwlock_rdlock(&table);
    d += total;
    pthread_rwlock_unlock(&table);
    break;
  case 3:
    d -= b;
    break;
  default:
    pthread_rwlock_wrlock(&table);
    total ^= d;
    pthread_rwlock_unlock(&table);
  }
  return d + c;
}

int main(int count, char **arguments) {
  int rounds = count > 1 ? atoi(arguments[1]) : 3, kind = count > 2 ? atoi(arguments[2]) : 0;
  long seed = count > 3 ? atoi(arguments[3]) : 9;
  long before = seed, across = seed * seed;
  for (int i = 0; i < rounds; i++) {
    long values[i + 1], fixed[3];
    fill(values, i + 1, before);
    memset(fixed, 0, sizeof fixed);
    long next = step(kind + i, values[i], across);
    fixed[i % 3] = next;
    across = before;
    before = next + fixed[1] - fixed[2];
  }
  printf("%ld %ld %ld\n", before, across, total);
  return (int)(before & 15);
}
