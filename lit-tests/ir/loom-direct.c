// Calls between units: a function that others see has an entry for them, and another for code with loom, which need not ask whether its
// thread runs. Who calls a function of another unit calls that entry; in its own unit there is a weak one, for functions that are not
// instrumented.
// RUN: %clang -O1 -g -S -emit-llvm %s -o %t.ll && %opt -load-pass-plugin=%plugin -passes=loom,verify -S %t.ll -o %t.loom.ll && %FileCheck %s < %t.loom.ll
// RUN: %clang -O1 -g -c %t.loom.ll -o %t.o && llvm-nm-16 %t.o | %FileCheck --check-prefix=SYMBOLS %s
// RUN: %opt -load-pass-plugin=%plugin -passes='loom<no-direct>,verify' -S %t.ll | %FileCheck --check-prefix=NONE %s
// RUN: %clang -fPIC -O1 -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S | %FileCheck --check-prefix=SHARED %s
// NONE-NOT: .in.
struct pair {
  long first, second, third;
};
int elsewhere(int n);
struct pair both(struct pair of);
int prints(const char *how, ...);
int undeclared();

// SYMBOLS-DAG: T calls{{$}}
// SYMBOLS-DAG: T calls.in.[[#%x,H:]]
// SYMBOLS-DAG: {{[VW]}} elsewhere.in.
// SYMBOLS-DAG: U elsewhere{{$}}

// CHECK-LABEL: define dso_local i32 @calls(i32 noundef %0)
// CHECK-NEXT: load i64, ptr @covsched_loom_at
// CHECK: outside:
// CHECK-NEXT: musttail call i32 @calls.outside(i32 noundef %0)
// CHECK: inside:
// CHECK-NEXT: tail call i32 @calls.in.[[CALLS:[0-9a-f]+]](ptr nest poison, i32 noundef %0)
// CHECK-LABEL: define hidden i32 @calls.in.{{[0-9a-f]+}}(ptr nest %0, i32 noundef %1){{.*}} !dbg
// CHECK-NOT: @covsched_loom_at
// CHECK: %[[AT:.*]] = call ptr asm sideeffect "leaq {{.*}}(ptr {{.*}}@covsched.loom.locations
// CHECK: call i32 @elsewhere.in.[[ELSE:[0-9a-f]+]](ptr nest %[[AT]], i32 noundef %{{.*}}){{.*}}, !dbg
// CHECK-NOT: @covsched_loom_at
// CHECK: call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
// CHECK: {{^[}]$}}
// Code that may be linked into a shared object: another object may define either.
// SHARED-LABEL: define i32 @calls(
// SHARED: load i64, ptr @covsched_loom_at
// SHARED: store volatile i64 %{{.*}}, ptr @covsched_loom_at
// SHARED-NEXT: call i32 @elsewhere(
// SHARED: {{^[}]$}}
__attribute__((noinline)) int calls(int n) {
  return elsewhere(n) + 1;
}

// In its own unit, too; the thread runs there.
// CHECK-LABEL: define hidden i32 @within.in.
// CHECK: call {{(fastcc )?}}i32 @calls.in.[[CALLS]](ptr nest poison, i32
// CHECK: {{^[}]$}}
__attribute__((noinline)) int within(int n) {
  return calls(n) * calls(n + 1);
}

// Only its address is known elsewhere.
// CHECK-LABEL: define internal i32 @passed(
// CHECK: musttail call i32 @passed.outside(
// CHECK: tail call i32 @passed.in(i32
// CHECK-LABEL: define internal i32 @passed.in(
static int passed(int n) {
  return n * 3;
}
int (*volatile table)(int) = passed;

// Nothing is tested where only the return follows, also if it is shared.
// CHECK-LABEL: define hidden i32 @returns.in.
// CHECK: tail call i32 @elsewhere.in.
// CHECK-NEXT: br label
// CHECK-NOT: {{load volatile|testq}}
// CHECK: ret i32
// CHECK: {{^[}]$}}
int returns(int n) {
  if (n > 3)
    return elsewhere(n);
  return 7;
}

// What is passed in memory, and what cannot be passed on.
// CHECK-LABEL: define hidden void @passes.in.
// CHECK: call void @both.in.{{[0-9a-f]+}}(ptr nest {{.*}}, ptr {{.*}}sret(%struct.pair) {{.*}}, ptr {{.*}}byval(%struct.pair)
// CHECK: call i32 (ptr, ...) @prints(
// CHECK: call i32 {{.*}}@undeclared(
// CHECK: {{^[}]$}}
void passes(struct pair *of) {
  *of = both(*of);
  prints("%ld", of->first);
  undeclared(of);
  of->first = 2;
}

// Another unit may make a signal handler of it: that enters it by its name, and who calls it by its name enters its code.
// CHECK-LABEL: define internal void @notes.body(i32
// CHECK: {{^[}]$}}
void notes(int n) {
  elsewhere(n);
}

// Inline functions may be any unit's.
// CHECK-NOT: @shared.in.
__attribute__((weak)) int shared(int n) {
  return n + 1;
}
int uses(int n) {
  return shared(n) + 2;
}

// A place in a function's code stays one.
// CHECK-LABEL: define hidden i32 @jumps.in.
// CHECK: indirectbr
int jumps(int n) {
  static void *const to[] = {&&up, &&end};
  goto *to[n % 2];
up:
  n = elsewhere(n) + 1;
end:
  return n;
}

// CHECK-LABEL: define dso_local void @notes(i32
// CHECK: call void @covsched_loom_handler_enter(
// CHECK: @notes.body(
// CHECK-LABEL: define weak hidden i32 @elsewhere.in.{{[0-9a-f]+}}(ptr nest %0, i32 noundef %1) {{.*}}comdat
// CHECK-NEXT: %[[C:.*]] = load volatile i64, ptr {{.*}}@covsched.loom.calls
// CHECK-NEXT: %[[K:.*]] = icmp eq i64 %[[C]], 1
// CHECK-NEXT: %[[P:.*]] = ptrtoint ptr %0 to i64
// CHECK-NEXT: %[[T:.*]] = select i1 %[[K]], i64 1, i64 %[[P]]
// CHECK-NEXT: store volatile i64 %[[T]], ptr @covsched_loom_at
// CHECK-NEXT: %[[R:.*]] = call i32 @elsewhere(i32 noundef %1)
// CHECK-NEXT: store volatile i64 1, ptr @covsched_loom_at
// CHECK: call preserve_allcc void @covsched_loom_reacquire(ptr %0)
// CHECK: ret i32 %[[R]]

// CHECK-LABEL: define hidden void @notes.in.{{[0-9a-f]+}}(ptr nest %0, i32 noundef %1)
// CHECK-NEXT: tail call void @notes.body(i32 noundef %1)
// CHECK-NEXT: ret void
