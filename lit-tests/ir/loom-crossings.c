// Where control crosses to the slow path: values that are never needed together share a parameter, which is the first one if a call
// returned them; the code generator puts what is hardly ever executed behind loops.
// RUN: %clang -O1 -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S -o %t.ll && %FileCheck %s < %t.ll
// RUN: %clang -O2 -S %t.ll -o - | %FileCheck --check-prefix=CODE %s

int first(int), second(int), third(int);

// CHECK-LABEL: define dso_local i32 @calls(
// CHECK-SAME: !prof ![[COUNT:[0-9]+]]
// CHECK: %[[A:[0-9]+]] = tail call i32 @first(
// CHECK: %[[B:[0-9]+]] = tail call i32 @second(
// CHECK: %[[C:[0-9]+]] = tail call i32 @third(
// CHECK-DAG: call {{.*}}@calls.slow(i32 %[[A]], {{.*}}i32 1{{[,)]}}
// CHECK-DAG: call {{.*}}@calls.slow(i32 %[[B]], {{.*}}i32 2{{[,)]}}
// CHECK-DAG: call {{.*}}@calls.slow(i32 %[[C]], {{.*}}i32 3{{[,)]}}
// CHECK: {{^[}]$}}
// CHECK-DAG: ![[COUNT]] = !{!"function_entry_count", i64 {{[0-9]+}}}

// The loop ends with its last jump, and what follows is the return.
// CODE-LABEL: {{^}}calls:
// CODE: callq {{.*}}first
// CODE-NOT: callq {{.*}}calls.slow
// CODE: retq
// CODE: callq
int calls(volatile int *rounds) {
  int value = 0;
  while (*rounds) {
    value = first(value) | 1;
    value = second(value) & 0xff;
    value ^= third(value);
  }
  return value;
}
