// Structs with padding, packed structs, bit-fields and arrays of structs: each field has its own place.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct padded {
  char tag;
  int number;
  char mark;
  long wide;
};
struct __attribute__((packed)) packed {
  char tag;
  int number;
  short mark;
  long wide;
};
struct bits {
  unsigned low : 5, middle : 9, high : 18;
  signed char after;
};

static int input;
static struct padded padded[3];
static struct packed packed[3];
static struct bits bits;

static void *worker(void *unused) {
  int tag = padded[1].tag;       // CONST t1 load 1
  int number = padded[1].number; // CONST t1 load 2
  int mark = padded[1].mark;     // CONST t1 load 3
  long wide = padded[1].wide;    // NOT CONST t1 load
  long next = padded[2].wide;    // CONST t1 load 4
  int packed_tag = packed[1].tag;    // CONST t1 load 5
  int packed_number = packed[1].number; // NOT CONST t1 load
  int packed_mark = packed[1].mark;  // CONST t1 load 7
  long packed_wide = packed[1].wide; // CONST t1 load 8
  int after = bits.after; // CONST t1 load -1
  unsigned middle = bits.middle;
  bits.low = 3;
  bits.high = (unsigned)input;
  printf("%d %d %d %ld %ld\n", tag, number, mark, wide, next);
  printf("%d %d %d %ld\n", packed_tag, packed_number, packed_mark, packed_wide);
  printf("%d %u %u %u\n", after, middle, bits.low, bits.high);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  padded[1].tag = 1;
  padded[1].number = 2;
  padded[1].mark = 3;
  padded[1].wide = input;
  padded[2].wide = 4;
  packed[1].tag = 5;
  packed[1].number = input;
  packed[1].mark = 7;
  packed[1].wide = 8;
  bits.low = (unsigned)input & 31;
  bits.middle = 300;
  bits.after = -1;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
