// The table says which calls nothing follows but the return: the code generator may make jumps of them, and their functions have no
// frame then.
// RUN: %clang -O2 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.ll
// RUN: env COVSCHED_PASS_OPTIONS=loom %opt -load-pass-plugin=%plugin -passes='default<O2>,verify,print<covsched-loom>' -S %t.ll -o %t.2.ll 2> %t.txt
// RUN: %FileCheck %s < %t.txt
// RUN: %FileCheck %s --check-prefix=MODULE < %t.2.ll
#include <unistd.h>

// MODULE-NOT: !covsched.last

__attribute__((noinline)) int waits(int file) {
  char byte;
  return (int)read(file, &byte, 1) + byte;
}

// CHECK: function {{[0-9]+}} jumps
// CHECK: call waits last
int jumps(int file) { return waits(file + 1); }

// CHECK: function {{[0-9]+}} comes_back
// CHECK: call waits {
int comes_back(int file) { return waits(file) + 1; }
