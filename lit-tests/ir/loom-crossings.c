// Where control crosses to the slow path: values that are never needed together share a parameter, which is the first one if a call
// returned them; the code generator puts what is hardly ever executed behind loops.
// RUN: %clang -O1 -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S -o %t.ll && %FileCheck %s < %t.ll
// RUN: env COVSCHED_PASS_OPTIONS=loom %clang -O2 -g -fpass-plugin=%plugin -S %s -o - | %FileCheck --check-prefix=CODE %s

// They block, and are known: nothing of covsched's but loom's is around them.
int fsync(int), fdatasync(int), close(int);

// CHECK-LABEL: define dso_local i32 @calls(
// CHECK: %[[A:[0-9]+]] = tail call i32 @fsync(
// CHECK: %[[B:[0-9]+]] = tail call i32 @fdatasync(
// CHECK: %[[C:[0-9]+]] = tail call i32 @close(
// CHECK-DAG: call {{.*}}@calls.slow(i32 %[[A]], {{.*}}i32 1{{[,)]}}
// CHECK-DAG: call {{.*}}@calls.slow(i32 %[[B]], {{.*}}i32 2{{[,)]}}
// CHECK-DAG: call {{.*}}@calls.slow(i32 %[[C]], {{.*}}i32 3{{[,)]}}
// CHECK: {{^[}]$}}

// Nothing stands between the loop's last jump and the return.
// CODE-LABEL: {{^}}calls:
// CODE: callq fsync
// CODE-NOT: callq calls.slow
// CODE: callq close
// CODE-NOT: callq
// CODE: jne
// CODE-NOT: callq
// CODE: retq
// CODE: callq calls.slow
int calls(volatile int *rounds) {
  int value = 0;
  while (*rounds) {
    value = fsync(value) | 1;
    value = fdatasync(value) & 0xff;
    value ^= close(value);
  }
  return value;
}
