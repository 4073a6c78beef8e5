// Accesses that overlap in part: unions, stores of another size than the load, a byte in the middle, floats in the same
// place, an array through a pointer to something smaller.
// RECORDED: 5
// COVERED: 9
// COVERED: 1000
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

union number {
  uint64_t whole;
  uint32_t half[2];
  uint8_t byte[8];
  double real;
};

static int input;
static union number number, fixed, real;
static uint64_t wide;
static uint16_t pair[4];

static void *worker(void *unused) {
  fixed.whole = 0x0000000700000003;
  uint32_t low = fixed.half[0], high = fixed.half[1]; // NOT CONST t1 load 30064771075
  number.whole = 1;
  number.byte[1] = (uint8_t)input;
  uint64_t mixed = number.whole; // NOT CONST t1 load
  number.half[1] = (uint32_t)input;
  uint64_t upper = number.whole; // NOT CONST t1 load
  number.whole = 1;
  uint8_t none = number.byte[3]; // NOT CONST t1 load 1
  real.whole = 5;
  real.real = input;
  uint64_t bits = real.whole; // NOT CONST t1 load
  wide = 6;
  ((char *)&wide)[7] = (char)input;
  uint64_t seen = wide; // NOT CONST t1 load
  wide = 6;
  uint32_t part;
  memcpy(&part, (char *)&wide + 2, sizeof part);
  pair[0] = pair[1] = pair[2] = 1;
  uint32_t both = (uint32_t)input;
  memcpy(&pair[1], &both, sizeof both);
  uint16_t left = pair[0]; // CONST t1 load 1
  uint16_t middle = pair[1]; // NOT CONST t1 load
  uint16_t end = pair[2]; // NOT CONST t1 load 1
  printf("%u %u %lx %lx %u %lx %lx %u %u %u %u\n", low, high, mixed, upper, none, bits, seen, part, left, middle, end);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
