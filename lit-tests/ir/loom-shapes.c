// Control flow of all kinds gives the same output on the fast path, on the slow path, and with switches that flip at run
// time; so do functions that cannot be cloned (setjmp, computed goto), signal handlers, comparators, variadic functions.
// RUN: mkdir -p %t && %clang -O1 -c %S/Inputs/loom-stub.c -o %t/stub.o && %clang -w %s -o %t/plain -pthread && %t/plain > %t/want
// RUN: %clang -w -g -O0 -c -emit-llvm %s -o %t/O0.bc && %clang -w -g -O2 -c -emit-llvm %s -o %t/O2.bc && %clang -w -g -O3 -mavx -c -emit-llvm %s -o %t/O3.bc
// RUN: bash -c 'set -e; for level in O0 O2 O3; do %opt -load-pass-plugin=%plugin -passes=loom,verify %t/$level.bc -o %t/loom.bc; %clang -w -O1 %t/loom.bc %t/stub.o -o %t/loom -pthread; for way in fast slow flip; do LOOM_STUB=$way %t/loom > %t/got; cmp %t/want %t/got; done; done'
// RUN: bash -c 'set -e; for option in no-cloning no-filter-byte no-inline all-loops; do %opt -load-pass-plugin=%plugin -passes="loom<$option>,verify" %t/O2.bc -o %t/loom.bc; %clang -w -O1 %t/loom.bc %t/stub.o -o %t/loom -pthread; for way in slow flip; do LOOM_STUB=$way %t/loom > %t/got; cmp %t/want %t/got; done; done'
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// Many shapes of control flow, values across loops, and what cannot be cloned.
static jmp_buf env;
static volatile int handled;
static void on_signal(int n) { for (int i = 0; i < 100; i++) handled += n - n + 1; }
static void on_info(int n, siginfo_t *i, void *p) { (void)i; (void)p; handled += n - n + 1000; }
static int compare(const void *a, const void *b) { int x = *(int *)a, y = *(int *)b; return (x > y) - (x < y); }
__attribute__((noinline)) int sum(int n, ...) {
  va_list l; va_start(l, n); int s = 0;
  for (int i = 0; i < n; i++) s += va_arg(l, int);
  va_end(l); return s;
}
__attribute__((noinline)) int duff(char *to, const char *from, int n) {
  int c = 0, k = (n + 7) / 8;
  switch (n % 8) { case 0: do { *to++ = *from++; c++; case 7: *to++ = *from++; c++; case 6: *to++ = *from++; c++;
    case 5: *to++ = *from++; c++; case 4: *to++ = *from++; c++; case 3: *to++ = *from++; c++; case 2: *to++ = *from++; c++;
    case 1: *to++ = *from++; c++; } while (--k > 0); }
  return c;
}
__attribute__((noinline)) int gotos(int x) {
  int r = 0;
  if (x & 1) goto b;
a: r += x; x--; if (x < 0) return r;
b: r ^= x * 3; x -= 2; if (x > 0 && r % 5) goto a; if (x > 0) goto b;
  return r;
}
__attribute__((noinline)) int computed(int x) {
  static void *t[] = {&&l0, &&l1, &&l2};
  int r = 0;
  goto *t[x % 3];
l0: r += 1; if (r > 50) return r; goto *t[r % 3];
l1: r += 4; goto *t[(r + x) % 3];
l2: r += 7; if (r > 90) return r; goto *t[(r * x) % 3 & 1];
}
__attribute__((noinline)) int jumps(int n) {
  volatile int c = 0;
  int v = setjmp(env);
  c++;
  if (v < n) { write(1, "j", 1); longjmp(env, v + 1); }
  return c;
}
struct big { int a[20]; };
__attribute__((noinline)) struct big byval(struct big b, int k) { for (int i = 0; i < 20; i++) b.a[i] += k * i; return b; }
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int odd(int n);
__attribute__((noinline)) int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__attribute__((noinline)) int odd(int n) { return n == 0 ? 0 : even(n - 1); }
__attribute__((noinline)) double mix(double *a, int n, int m) {
  double s = 0; int k = 0;
  for (int i = 0; i < n; i++) { double p = 1;
    for (int j = 0; j < m; j++) { if ((i ^ j) & 1) continue; p = p * 0.5 + a[(i + j) % n]; if (p > 1e6) break; k++; }
    while (k > 10) { k -= 3; s += k; if (s > 1e9) goto out; }
    s += p; }
out: return s + k;
}
__attribute__((noinline)) int vla(int n) { int s = 0; for (int i = 1; i < n; i++) { int a[i]; memset(a, i, sizeof a); s += a[i - 1] & 255; usleep(0); } return s; }
static int tls_counter;
__attribute__((constructor)) static void before(void) { tls_counter = getpid() > 0; }
__attribute__((destructor)) static void after(void) { printf("after %d\n", tls_counter); }
static void at_exit(void) { printf("at exit %d\n", fib(10)); }
typedef int (*op)(int);
static int twice(int x) { return 2 * x; }
static int minus(int x) { return -x; }
__attribute__((noinline)) int table(int n) { static op ops[] = {twice, minus, fib, gotos}; int s = 0; for (int i = 0; i < n; i++) s += ops[i % 4](i); return s; }
int main(void) {
  atexit(at_exit);
  signal(SIGUSR1, on_signal);
  struct sigaction sa = {0}; sa.sa_sigaction = on_info; sa.sa_flags = SA_SIGINFO; sigaction(SIGUSR2, &sa, 0);
  raise(SIGUSR1); kill(getpid(), SIGUSR2);
  int v[50]; for (int i = 0; i < 50; i++) v[i] = i * 37 % 101;
  qsort(v, 50, sizeof *v, compare);
  for (int i = 1; i < 50; i++) if (v[i - 1] > v[i]) return 1;
  int key = 74; int *found = bsearch(&key, v, 50, sizeof *v, compare);
  char buf[64] = {0}; char src[64]; memset(src, 'x', 63); src[63] = 0;
  double a[16]; for (int i = 0; i < 16; i++) a[i] = i * 0.25;
  struct big b; memset(&b, 0, sizeof b); for (int i = 0; i < 5; i++) b = byval(b, i);
  printf("%d %d %d %d %d %d\n", handled, found ? *found : -1, sum(5, 1, 2, 3, 4, 5), duff(buf, src, 45), gotos(20), computed(7));
  fflush(stdout);
  printf("%d %d %d %d %.6f %d %d %s\n", jumps(3), b.a[19], fib(20), even(1001), mix(a, 16, 40), vla(20), table(40), buf);
  return 0;
}
