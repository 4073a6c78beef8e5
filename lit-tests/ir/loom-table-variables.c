// Which variables slots have: parameters, values that come over from the fast path, those in memory, those of inlined
// functions; and the fast path has nothing to do with it.
// RUN: %clang -O2 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.ll
// RUN: env COVSCHED_PASS_OPTIONS=loom %opt -load-pass-plugin=%plugin -passes='default<O2>,verify,print<covsched-loom>' -S %t.ll -o %t.2.ll 2> %t.txt
// RUN: %FileCheck %s < %t.txt
void use(int);
void fill(int *);

static inline int scaled(int factor, int value) {
  use(factor);
  return factor * value;
}

// CHECK-LABEL: {{^}}function {{[0-9]+}} sum
// CHECK-DAG: variable n of sum: value in word
// CHECK-DAG: variable total of sum: value in word
// CHECK-DAG: variable factor of scaled#1: value in word
// CHECK-DAG: variable local of sum: address in word
int sum(int n, int m) {
  int total = 0;
  int local = m;
  fill(&local);
  for (int i = 0; i < n; ++i)
    // CHECK: slot {{[0-9]+}} {{{.*}} => loom-table-variables.c:10#1 < loom-table-variables.c:[[@LINE+1]]}{{.*}} factor
    total += scaled(i, local);
  return total;
}
