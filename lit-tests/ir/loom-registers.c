// A test at an entry or after a call is of a register, of which some are free there: it becomes one operation with its jump. In a loop it
// takes none.
// RUN: %clang --target=x86_64-linux-gnu -O2 -g -S -emit-llvm %s -o %t.ll && %opt -load-pass-plugin=%plugin -passes=loom,verify %t.ll -o %t.bc
// RUN: %clang --target=x86_64-linux-gnu -O2 -S %t.bc -o - | %FileCheck %s

int shared;
void work(int *);

// CHECK-LABEL: calls.in.{{[0-9a-f]+}}:
// CHECK: movzbl {{.*}}covsched.loom.functions{{.*}}, %[[E:[a-z0-9]+]]
// CHECK-NEXT: testb ${{[13]}}, %
// CHECK-NEXT: jne
// CHECK: callq work.in.{{[0-9a-f]+}}
// CHECK: movzbl {{.*}}covsched.loom.functions{{.*}}, %
// CHECK-NEXT: test{{[bl]}} {{.*}}%
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
// CHECK: testb $3, {{.*}}covsched.loom.functions
// CHECK-NEXT: j{{n?}}e
// CHECK: retq
int sums(struct list *of) {
  int sum = 0;
  for (; of; of = of->next)
    sum ^= of->value;
  return sum;
}
