// Exceptions and longjmps leave the runtime's call stack as it was: the depth after the catch is that of before.
// RUN: rm -rf %t && mkdir %t
// RUN: %clang -O1 -c %S/../Inputs/stand-in.c -o %t/stand-in.o
// RUN: %clangxx -O0 -gline-tables-only -fpass-plugin=%plugin -c %s -o %t/p.o && %clangxx %t/p.o %t/stand-in.o -o %t/O0 && env STAND_IN_ACTIVE=1 %t/O0 | %FileCheck %s
// RUN: %clangxx -O2 -gline-tables-only -fpass-plugin=%plugin -c %s -o %t/p.o && %clangxx %t/p.o %t/stand-in.o -o %t/O2 && env STAND_IN_ACTIVE=1 %t/O2 | %FileCheck %s
#include <csetjmp>
#include <cstdio>
extern "C" int covsched_derived_depth();
static jmp_buf env;
void (*volatile thrower)();
void (*volatile jumper)();
static void throws() { throw 1; }
static void jumps() { longjmp(env, 1); }
__attribute__((noinline)) void deep_throw(int n) {
  if (n)
    deep_throw(n - 1);
  else
    thrower();
}
__attribute__((noinline)) void deep_jump(int n) {
  if (n)
    deep_jump(n - 1);
  else
    jumper();
}
int main() {
  thrower = throws;
  jumper = jumps;
  try {
    deep_throw(3);
  } catch (int) {
    std::printf("caught at %d\n", covsched_derived_depth());
  }
  if (setjmp(env) == 0)
    deep_jump(3);
  else
    std::printf("jumped at %d\n", covsched_derived_depth());
  return 0;
}
// CHECK: derived_enter
// CHECK: caught at 0
// CHECK: derived_enter
// CHECK: jumped at 0
