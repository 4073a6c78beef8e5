// A test of a function's word takes no register but the stack pointer, which is there anyway, and no constant: with its jump it is one operation,
// at entries, after calls and in loops. Where data is not reached relative to rip it is a byte's.
// RUN: %clang --target=x86_64-linux-gnu -O2 -g -S -emit-llvm %s -o %t.ll && %opt -load-pass-plugin=%plugin -passes=loom,verify %t.ll -o %t.bc
// RUN: %clang --target=x86_64-linux-gnu -O2 -S %t.bc -o - | %FileCheck %s
// RUN: %clang --target=x86_64-linux-gnu -mcmodel=large -O2 -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S \
// RUN:     | %FileCheck --check-prefix=LARGE %s
// RUN: %clang --target=aarch64-linux-gnu -O2 -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S \
// RUN:     | %FileCheck --check-prefix=LARGE %s
// LARGE-NOT: testq
// LARGE: load volatile i8, ptr @covsched.loom.functions
// LARGE-NOT: testq

int shared;
void work(int *);

// CHECK-LABEL: calls.in.{{[0-9a-f]+}}:
// CHECK: testq %rsp, covsched.loom.functions(%rip)
// CHECK-NEXT: #NO_APP
// CHECK-NEXT: jne
// CHECK: callq work.in.{{[0-9a-f]+}}
// CHECK: testq %rsp, covsched.loom.functions(%rip)
// CHECK-NEXT: #NO_APP
// CHECK-NEXT: jne
// CHECK: retq
int calls(int *of) {
  work(of);
  return *of + shared;
}

struct list {
  struct list *next;
  int value;
};

// CHECK-LABEL: sums.in.{{[0-9a-f]+}}:
// CHECK: testq %rsp, covsched.loom.functions+8(%rip)
// CHECK-NEXT: #NO_APP
// CHECK-NEXT: j{{n?}}e
// CHECK: retq
int sums(struct list *of) {
  int sum = 0;
  for (; of; of = of->next)
    sum ^= of->value;
  return sum;
}
