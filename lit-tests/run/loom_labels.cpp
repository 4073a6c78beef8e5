// An inline function of a signal handler's type that jumps to labels by a table: the linker takes the table from one unit, and the code in which its
// labels are must be the same unit's. What the function looks like depends on how a unit is compiled.
// RUN: %covsched-cxx --loom -O2 -c %s -o %t.main.o
// RUN: %covsched-cxx --loom -O0 -DOTHER -c %s -o %t.other.o
// RUN: %covsched-cxx --loom %t.main.o %t.other.o -o %t
// RUN: %t | %FileCheck %s
// RUN: %covsched-cxx --loom %t.other.o %t.main.o -o %t
// RUN: %t | %FileCheck %s
// CHECK: odd 1
// CHECK-NEXT: even 2
// CHECK-NEXT: odd 3
// CHECK-NEXT: even 4
#include <cstdio>

inline void __attribute__((noinline)) run(int number) {
  static void *const table[] = {&&even, &&odd};
  char text[64];
  goto *table[number & 1];
even:
  snprintf(text, sizeof text, "even %d", number);
  puts(text);
  return;
odd:
  snprintf(text, sizeof text, "odd %d", number);
  puts(text);
}

void other(int number);

#ifdef OTHER
void (*volatile pointer)(int) = run;
void other(int number) {
  pointer(number);
  run(number + 1);
}
#else
static void (*volatile pointer)(int) = run;
int main() {
  run(1);
  pointer(2);
  other(3);
}
#endif
