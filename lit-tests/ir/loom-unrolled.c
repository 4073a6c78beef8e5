// A small loop that does not count is copied until its check costs little; with -Os it is not, nor beside a call that stays one,
// which `sqrt` does not.
// RUN: %clang -O2 -fno-unroll-loops -fno-vectorize -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S -o %t.ll && %FileCheck %s < %t.ll
// RUN: %clang -Os -fno-unroll-loops -fno-vectorize -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S -o %t.ll && %FileCheck --check-prefix=SMALL %s < %t.ll

struct node {
  struct node *next;
  long value, count;
};

// CHECK-LABEL: define dso_local i64 @walk(
// CHECK-COUNT-8: getelementptr inbounds %struct.node, {{.*}} i64 0, i32 1
// CHECK: ret i64
// SMALL-LABEL: define dso_local i64 @walk(
// SMALL-COUNT-1: getelementptr inbounds %struct.node, {{.*}} i64 0, i32 1
// SMALL-NOT: getelementptr inbounds %struct.node, {{.*}} i64 0, i32 1
// SMALL: ret i64
long walk(const struct node *at) {
  long sum = 0;
  for (; at; at = at->next)
    sum ^= at->value;
  return sum;
}

// CHECK-LABEL: define dso_local ptr @copy(
// CHECK-COUNT-1: call void @llvm.memcpy
// CHECK-NOT: call void @llvm.memcpy
// CHECK: ret ptr
char *copy(const struct node *at, char *out) {
  for (; at; at = at->next) {
    __builtin_memcpy(out, &at->value, at->count);
    out += at->count;
  }
  return out;
}

// CHECK-LABEL: define dso_local double @roots(
// CHECK-COUNT-8: call double @sqrt
// CHECK: ret double
double sqrt(double);
double roots(const struct node *at) {
  double sum = 0;
  for (; at; at = at->next)
    sum += sqrt((double)at->value);
  return sum;
}
