// See units_caller.c.
#include "units.h"
#include <string.h>
#include <unistd.h>
int plain(int n) { return n * 3 + 1; }
double mixed(int a, double b, long c, float d, const char *e, long f, long g, double h, long i, short j) {
  return a + b * 2 + c * 3 + d * 4 + strlen(e) * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10;
}
struct small gives_small(struct small of) { return (struct small){of.b, of.a + 1}; }
struct large gives_large(struct large of, int n) {
  for (int i = 0; i < 5; ++i)
    of.a[i] = of.a[i] * n + i;
  of.b += n;
  return of;
}
long sums(int count, ...) {
  va_list list;
  va_start(list, count);
  long sum = 0;
  while (count-- > 0)
    sum = sum * 3 + va_arg(list, long);
  va_end(list);
  return sum;
}
int calls_back(int (*f)(int), int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += f(i) + back(i);
  return sum;
}
int blocks(int n) {
  if (n % 64 == 0)
    usleep(50);
  return n + 1;
}
int returns(int n) { return n > 2 ? plain(n) : back(n); }
int old_style(int a, int b) { return a * 100 + b; }
__thread long noted;
void notes(int n) {
  noted = noted * 3 + n;
  if (n > 2)
    notes(n / 2);
}
void copies(int n, struct large of, struct large more) { noted += of.a[n % 5] * 7 + more.a[n % 3] + (long)more.b; }
void tells(int n, void *to, void *more) {
  *(long *)to += n;
  notes(back(n));
  *(long *)more += noted;
}
int jumps(int n) {
  static void *const to[] = {&&up, &&twice, &&end};
  int sum = n;
  goto *to[n % 3];
up:
  sum = back(sum) + 1;
twice:
  sum *= 2;
end:
  return sum;
}
