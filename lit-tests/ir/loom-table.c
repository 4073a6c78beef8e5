// What the table says of a unit: functions, slots with their lines, calls and what they may reach, threads that are
// started, accesses, and what all that was before optimization.
// RUN: %clang -O2 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.ll
// RUN: env COVSCHED_PASS_OPTIONS=loom %opt -load-pass-plugin=%plugin -passes='default<O2>,verify,print<covsched-loom>' -S %t.ll -o %t.2.ll 2> %t.txt
// RUN: %FileCheck %s < %t.txt
// RUN: %FileCheck %s --check-prefix=MODULE < %t.2.ll
// Precise tables need not say what the code was.
// RUN: env COVSCHED_PASS_OPTIONS='loom<precise>' %opt -load-pass-plugin=%plugin -passes='default<O2>,print<covsched-loom>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=PRECISE
// RUN: env COVSCHED_PASS_OPTIONS='loom,covsched-instrument<no-bitcode>' %opt -load-pass-plugin=%plugin -passes='default<O2>,print<covsched-loom>' -disable-output %t.ll 2>&1 | %FileCheck %s --check-prefix=NO-BITCODE
#include <pthread.h>
#include <stdlib.h>
int counter;
int (*chosen)(int);
void report(int);
void elsewhere(void);
extern void (*at_end)(void);

// MODULE-DAG: @covsched.loom.functions = internal global { [4 x i64], [32 x i8] } zeroinitializer, {{.*}}align 64
// MODULE-DAG: @covsched.loom.table = {{.*}}section ".llvmcmd"
// PRECISE: unit {{.*}}loom-table.c, precise,
// PRECISE-NOT: {{^}}original
// NO-BITCODE: unit {{.*}}loom-table.c, late,
// NO-BITCODE-NOT: {{^}}original

// CHECK: unit {{.*}}loom-table.c, late, {{[0-9a-f]+$}}
// CHECK: {{^}}function 0 twice loom-table.c:[[@LINE+1]] taken
int twice(int n) {
  return 2 * n;
}

static inline void add(int n) {
  // CHECK: {{^}}function 1 update loom-table.c:[[@LINE+4]]{{$}}
  counter += n; // CHECK: slot {{[0-9]+}} {- => loom-table.c:[[ADD:[0-9]+]]#1 < loom-table.c:[[@LINE+4]]} n n ->
}

void update(int n) {
  add(n);
  // CHECK: call shape {{[0-9a-f]+}} {loom-table.c:[[@LINE+1]]}
  report(chosen(n));
  // CHECK: call report at {{[0-9]+}} last {loom-table.c:[[@LINE-1]]}
  // CHECK: slot {{[0-9]+}} {loom-table.c:[[@LINE+1]] => -}
}
// CHECK: return
// CHECK: read 4 bytes of counter at loom-table.c:[[ADD]] of add#1, point {{[0-9]+}}, depth 0
// CHECK: write 4 bytes of counter at loom-table.c:[[ADD]] of add#1, point {{[0-9]+}}, depth 0

static void *work(void *);
// CHECK: {{^}}function 2 start
void start(int *n, void *(*other)(void *)) {
  pthread_t t;
  chosen = twice;
  at_end = elsewhere;
  // CHECK: call pthread_create at {{[0-9]+}} starts work {loom-table.c:[[@LINE+1]]}
  pthread_create(&t, NULL, work, n);
  // CHECK: call pthread_create at {{[0-9]+}} starts shape {{[0-9a-f]+}} {loom-table.c:[[@LINE+1]]}
  pthread_create(&t, NULL, other, n);
}

// A thread's function is reached by no pointer that the program calls.
// CHECK: {{^}}function 3 work loom-table.c:[[@LINE+1]] internal{{$}}
static void *work(void *p) {
  int n = *(int *)p;
  for (int i = 0; i < n; ++i)
    // CHECK: check at {{[0-9]+}} {loom-table.c:[[@LINE+1]]}
    update(i);
  return NULL;
}
// CHECK: write 4 bytes of counter at loom-table.c:[[ADD]] of add#1, point {{[0-9]+}}, depth 1

// CHECK: {{^}}taken elsewhere
// CHECK: {{^}}original update
// CHECK: call add at
// CHECK: {{^}}original add
// CHECK: write 4 bytes of counter at loom-table.c:[[ADD]] of add, point
