// Control flow of all shapes, for the differential test of block cloning: several edges between two blocks, irreducible loops,
// setjmp, computed gotos, tail calls, variadic functions, variable-sized arrays, vectors, recursion, inline assembly. Two threads
// do the same and must get the same.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
#define NOINLINE __attribute__((noinline))

static NOINLINE u64 mix(u64 hash, u64 value) { return (hash ^ value) * 1099511628211u; }

// Several edges between the same two blocks, PHIs that tell them apart.
static NOINLINE u64 cases(unsigned x) {
  u64 result;
  switch (x & 15) {
  case 0:
  case 3:
  case 7:
    result = x;
    break;
  case 1:
    result = x * 2;
  // fall through
  case 2:
    result = x * 3;
    break;
  case 9:
    return 77;
  case 10:
    for (result = 0; x; x >>= 1)
      result += x & 1;
    break;
  default:
    result = x & 16 ? x + 1 : x - 1;
  }
  return result ^ 5;
}

// A loop with two entries.
static NOINLINE u64 irreducible(unsigned n, int which) {
  u64 sum = 0;
  unsigned i = 0;
  if (which)
    goto second;
first:
  sum = mix(sum, i);
  if (++i > n)
    return sum;
second:
  sum += i * 3;
  if (i % 7 == 6) {
    i += 2;
    goto second;
  }
  if (++i <= n)
    goto first;
  return sum;
}

static NOINLINE u64 nested(int n) {
  u64 sum = 1;
  for (int i = 0; i < n; ++i) {
    for (int j = i; j > 0; j /= 2) {
      if (j == 13)
        goto out;
      if (j % 5 == 4)
        continue;
      sum = mix(sum, (u64)(i * j));
      do
        sum += (sum >> 7 & 3) + 1;
      while (sum % 3 == 1);
    }
    if (sum % 101 == 100)
      break;
  out:
    sum++;
  }
  return sum;
}

// The interpreter's loop: computed gotos.
static NOINLINE u64 interpret(const char *code) {
  static const void *const targets[] = {&&add, &&twice, &&back, &&end};
  u64 value = 1;
  int fuel = 50;
  const char *at = code;
  goto *targets[*at - 'a'];
add:
  value += 3;
  ++at;
  goto *targets[*at - 'a'];
twice:
  value *= 2;
  ++at;
  goto *targets[*at - 'a'];
back:
  at = --fuel ? code : at + 1;
  goto *targets[*at - 'a'];
end:
  return value;
}

static __thread jmp_buf place;

static NOINLINE void jump(int depth) {
  if (depth == 0)
    longjmp(place, 4);
  jump(depth - 1);
}

static NOINLINE u64 set_jump(int n) {
  volatile u64 count = 0;
  for (volatile int i = 0; i < n; i++) {
    int found = setjmp(place);
    count += (u64)found + 1;
    if (found == 0)
      jump(i % 5);
  }
  return count;
}

static NOINLINE u64 variadic(int count, ...) {
  va_list list;
  va_start(list, count);
  u64 sum = 0;
  for (int i = 0; i < count; ++i)
    sum = i % 2 ? sum + (u64)(va_arg(list, double) * 4) : mix(sum, va_arg(list, u64));
  va_end(list);
  return sum;
}

static NOINLINE u64 variable_array(int n) {
  int places[n];
  for (int i = 0; i < n; ++i) {
    int inner[i + 1];
    memset(inner, i, sizeof inner);
    places[i] = inner[i];
  }
  u64 sum = 0;
  for (int i = 0; i < n; ++i)
    sum = mix(sum, (u64)places[i]);
  return sum;
}

static NOINLINE u64 vectors(int n) {
  float a[256];
  int b[256];
  for (int i = 0; i < 256; ++i) {
    a[i] = (float)(i * n % 17);
    b[i] = i ^ n;
  }
  float products = 0;
  int most = 0;
  for (int i = 0; i < 256; ++i) {
    products += a[i] * 2;
    most = b[i] > most ? b[i] : most;
  }
  return mix((u64)products, (u64)most);
}

static NOINLINE u64 odd(unsigned n);
static NOINLINE u64 even(unsigned n) {
  if (n == 0)
    return 1;
  __attribute__((musttail)) return odd(n - 1);
}
static NOINLINE u64 odd(unsigned n) {
  if (n == 0)
    return 0;
  __attribute__((musttail)) return even(n - 1);
}

static NOINLINE u64 ackermann(u64 m, u64 n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

struct big {
  u64 words[9];
};

static NOINLINE struct big by_value(struct big in, int n) {
  for (int i = 0; i < n; ++i)
    in.words[i % 9] += in.words[(i + 4) % 9] + 1;
  return in;
}

static NOINLINE long double long_doubles(long double x, int n) {
  for (int i = 0; i < n; ++i)
    x = x * 1.0625L + 1;
  return x;
}

static NOINLINE __int128 wide(__int128 x, unsigned n) {
  while (n--)
    x = x * 3 + 7;
  return x;
}

static NOINLINE u64 assembly(u64 x) {
  for (int i = 0; i < 20; ++i)
    __asm__ volatile("rolq $5, %0\n\txorq $9, %0" : "+r"(x) : : "cc");
  return x;
}

static int compare(const void *a, const void *b) {
  u64 left = *(const u64 *)a, right = *(const u64 *)b;
  return left < right ? -1 : left > right;
}

static NOINLINE u64 sorted(u64 seed) {
  u64 numbers[40], sum = 0;
  for (int i = 0; i < 40; ++i)
    numbers[i] = seed = seed * 6364136223846793005u + 1442695040888963407u;
  qsort(numbers, 40, sizeof *numbers, compare);
  for (int i = 0; i < 40; ++i)
    sum = mix(sum, numbers[i]);
  return sum;
}

static u64 (*const table[])(int) = {nested, set_jump, variable_array, vectors};

// Locals of scopes that follow each other: optimized, the fast path needs hardly any of them in memory, the slow path all.
struct work {
  unsigned data[1 << 10];
  double reals[1 << 10];
  u64 sum;
};

static NOINLINE void scopes(struct work *w, long a, long b) {
  unsigned *data = w->data;
  u64 x = w->sum;
  for (unsigned i = 5; i < 12; i += 7)
    if (data[(i * 64) & 1023] & 1)
      x = x * 3 + 1;
    else
      x += 5;
  for (unsigned i = 5; i < (unsigned)b; i += 2) {
    data[(i * 3) & 1023] = data[(i * 3) & 1023] * 5 + 1;
    x ^= (u64)i << 7;
  }
  double *reals = w->reals;
  for (unsigned i = 5; i < (unsigned)b; i += 2)
    for (long j = a; j > 0; j -= 1)
      reals[(unsigned)(i + j * 64) & 1023] += 1.0 + (double)(i & 7);
  w->sum = x;
}

// A loop that ends where another one came to.
static NOINLINE u64 as_far(const unsigned *data, long n, unsigned what) {
  long found;
  for (found = 0; found < n; ++found)
    if (data[found] == what)
      break;
  u64 sum = 0;
  for (long i = 0; i < found; ++i)
    sum += data[i] * (u64)i;
  return sum + found;
}

static void *run(void *argument) {
  u64 hash = 14695981039346656037u;
  struct work *work = calloc(1, sizeof *work);
  unsigned *data = malloc(6000 * sizeof *data);
  for (unsigned i = 0; i < 6000; ++i)
    data[i] = i;
  for (int round = 0; round < 40; ++round) {
    for (unsigned x = 0; x < 40; ++x)
      hash = mix(hash, cases(x * (unsigned)(round + 1)));
    hash = mix(hash, irreducible((unsigned)round * 3, round & 1));
    hash = mix(hash, interpret("abacd"));
    hash = mix(hash, variadic(4, hash, 2.5, (u64)round, 1.25));
    hash = mix(hash, even((unsigned)round) * 2 + odd((unsigned)round));
    hash = mix(hash, ackermann(2, (u64)(round % 5)));
    struct big big = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
    big = by_value(big, round);
    hash = mix(hash, big.words[round % 9]);
    hash = mix(hash, (u64)long_doubles(1, round));
    hash = mix(hash, (u64)(wide(round, (unsigned)round) >> 17));
    hash = mix(hash, assembly(hash));
    hash = mix(hash, sorted(hash));
    hash = mix(hash, table[round % 4](round));
    scopes(work, round & 7 ? 3 : 100, round & 3 ? 17 : 1);
    hash = mix(hash, work->sum + (u64)work->reals[round]);
    hash = mix(hash, as_far(data, 6000, 5999u - 41u * (unsigned)round));
  }
  free(data);
  free(work);
  *(u64 *)argument = hash;
  return argument;
}

int main(void) {
  u64 hashes[3];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, run, &hashes[i]) != 0)
      return 2;
  run(&hashes[2]);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  printf("%016lx %016lx %016lx\n", hashes[0], hashes[1], hashes[2]);
  return hashes[0] != hashes[1] || hashes[0] != hashes[2];
}
