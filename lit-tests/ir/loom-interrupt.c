// Nothing can call an interrupt's handler, so it is left alone, as a limit; the rest is done.
// RUN: %clang --target=x86_64-linux-gnu -O1 -g -mgeneral-regs-only -S -emit-llvm %s -o %t.ll && %opt -load-pass-plugin=%plugin -passes='loom<verbose>,verify' -S %t.ll -o %t.loom.ll 2> %t.err
// RUN: %FileCheck %s < %t.loom.ll && %FileCheck --check-prefix=LIMIT %s < %t.err
// RUN: %clang --target=x86_64-linux-gnu -O1 -g -mgeneral-regs-only -c %t.loom.ll -o %t.o
// LIMIT: limits: filters cannot reach a function that is naked, an interrupt's handler, a resolver or a coroutine (1, first: on_fault at {{.*}}loom-interrupt.c:[[#@LINE+10]]
struct frame {
  unsigned long from;
};
int faults;

// CHECK-LABEL: define {{.*}}x86_intrcc void @on_fault(
// CHECK-NOT: loom
// CHECK: {{^[}]$}}
__attribute__((interrupt)) void
on_fault(struct frame *at) { faults++; }

// CHECK-LABEL: define hidden i32 @faults_seen.in.{{[0-9a-f]+}}(
int faults_seen(void) { return faults; }
