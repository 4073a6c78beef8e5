// Numbers of 8 to 64 bits, signed and not: what one thread computes of another's. Values are printed as the facts have
// them: signed by their width.
// RECORDED: 5
// COVERED: -9
// COVERED: 300
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int8_t s8;
static uint8_t u8;
static int16_t s16;
static uint16_t u16;
static int32_t s32;
static uint32_t u32;
static int64_t s64;
static uint64_t u64;
static bool flag;
static __int128 huge;
static int input, hits;
static unsigned odd;

static void *worker(void *unused) {
  int a = s8;       // CONST t1 load -3
  int b = u8;       // CONST t1 load -56
  int c = s16;      // CONST t1 load -300
  int d = u16;      // CONST t1 load -5536
  int32_t e = s32;  // CONST t1 load -70000
  uint32_t f = u32; // CONST t1 load -294967296
  int64_t g = s64;  // CONST t1 load -5000000000
  uint64_t h = u64; // CONST t1 load -2
  if (a >> 1 == -2) // TAKEN t1 true
    hits += 1;
  if (b >> 1 == 100) // TAKEN t1 true
    hits += 2;
  if ((uint16_t)c >> 4 == 4077) // TAKEN t1 true
    hits += 4;
  if (d / -7 == -8571) // TAKEN t1 true
    hits += 8;
  if (e / 7 == -10000 && e % 9 == -7) // TAKEN t1 true
    hits += 16;
  if (f / 7 == 571428571u && f % 9 == 4) // TAKEN t1 true
    hits += 32;
  if ((int32_t)f < 0) // TAKEN t1 true
    hits += 64;
  if (g >> 33 == -1 && (uint64_t)g >> 33 == 2147483647u) // TAKEN t1 true
    hits += 128;
  if (h > (uint64_t)g && (int64_t)h < 0) // TAKEN t1 true
    hits += 256;
  if ((int8_t)(a * 100) == -44) // TAKEN t1 true
    hits += 512;
  if (flag) // TAKEN t1 true
    hits += 1024;
  unsigned low = odd & 1; // NOT CONST t1 load
  if (low == 1) // TAKEN t1 true
    hits += 2048;
  uint8_t wrapped = (uint8_t)(input * 2); // NOT CONST t1 load
  if (wrapped % 2 == 0) // TAKEN t1 true
    hits += 4096;
  if (wrapped / 2 > 100) // NOT TAKEN t1
    hits += 8192;
  if (1u << (input & 31) == 32) // NOT TAKEN t1
    hits += 16384;
  if ((int8_t)input < 0) // NOT TAKEN t1
    hits += 32768;
  huge += input;
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  s8 = -3;
  u8 = 200;
  s16 = -300;
  u16 = 60000;
  s32 = -70000;
  u32 = 4000000000u;
  s64 = -5000000000;
  u64 = UINT64_MAX - 1;
  flag = true;
  odd = (unsigned)input | 1;
  huge = (__int128)s64 * 1000000000000;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%d %ld %lu\n", hits, (long)(huge >> 64), (unsigned long)huge);
  return 0;
}
