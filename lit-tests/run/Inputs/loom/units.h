#include <stdarg.h>
struct small {
  int a, b;
};
struct large {
  long a[5];
  double b;
};
// Defined in units_callee.c.
int plain(int n);
double mixed(int a, double b, long c, float d, const char *e, long f, long g, double h, long i, short j);
struct small gives_small(struct small of);
struct large gives_large(struct large of, int n);
long sums(int count, ...);
int calls_back(int (*f)(int), int n);
int blocks(int n);
int returns(int n);
int old_style();
int jumps(int n);
// Of the types that signal handlers have, also with parameters that are passed in memory.
void notes(int n);
void copies(int n, struct large of, struct large more);
void tells(int n, void *to, void *more);
extern __thread long noted;
// Defined in units_caller.c.
int back(int n);
