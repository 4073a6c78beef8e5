// Loops with exceptions: what throws inside of a loop lands in a pad of the unrolled loop, and the loop may go on from
// there or end. Both orders of passes, at each level of the front end.
// RUN: %clangxx -O2 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.O2.ll
// RUN: %clangxx -O0 -g -Xclang -disable-O0-optnone -S -emit-llvm %s -o %t.O0.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=3;verbose>,verify' -S %t.O2.ll -o %t.O2.done.ll 2> %t.err
// RUN: %FileCheck %s < %t.O2.done.ll
// RUN: %FileCheck %s --check-prefix=SAYS < %t.err
// RUN: %opt -load-pass-plugin=%plugin -passes='sync-unroll<factor=3>,verify' -S %t.O0.ll | %FileCheck %s
// The same with hooks.
// RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,sync-unroll<factor=3>,verify' -S %t.O2.ll | %FileCheck %s --check-prefix=HOOKS
#include <mutex>

std::mutex m;
long failed;
void work(int);

// SAYS: [[@LINE+6]]:3: goes_on(int): loop unrolled 3 times with {{remainder|all exits}}
// CHECK-LABEL: define {{.*}}@_Z7goes_oni(
// CHECK-COUNT-3: invoke void @_Z4worki(
// HOOKS-LABEL: define {{.*}}@_Z7goes_oni(
// HOOKS-COUNT-3: invoke void @_Z4worki(
void goes_on(int n) {
  for (int i = 0; i < n; ++i) {
    std::lock_guard<std::mutex> hold(m);
    try {
      work(i);
    } catch (int) {
      ++failed;
    }
  }
}

// SAYS: [[@LINE+6]]:5: ends(int): loop unrolled 3 times with {{remainder|all exits}}
// CHECK-LABEL: define {{.*}}@_Z4endsi(
// CHECK-COUNT-3: invoke void @_Z4worki(
// HOOKS-LABEL: define {{.*}}@_Z4endsi(
void ends(int n) {
  try {
    while (n-- > 0)
      work(n);
  } catch (...) {
    failed = n;
  }
}

// A handler goes back to the start.
// SAYS: [[@LINE+4]]:3: tries(): loop unrolled 3 times with all exits
// CHECK-LABEL: define {{.*}}@_Z5triesv(
// CHECK-COUNT-3: invoke void @_Z4worki(
void tries() {
  for (;;) {
    try {
      work(1);
      return;
    } catch (int) {
      failed++;
    }
  }
}
