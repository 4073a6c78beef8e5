// What is made in one instruction crosses to no copy: the slow path makes it again, from what crosses anyway. The code
// generator takes long over a phi for each value at each call.
// RUN: %clang -O2 -g -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='loom,verify' -S %t.ll | %FileCheck %s
struct record {
  long other, field;
};
void other(void);
long choose(void);

// CHECK-LABEL: define hidden void @straight.in.{{[0-9a-f]+}}(ptr nest %0, ptr
// CHECK-NOT: phi
// CHECK-COUNT-4: tail call fastcc void @straight.slow(ptr %1, i32 {{[0-9]}}){{.*}}, !dbg
// CHECK: {{^}}}
void straight(struct record *record) {
  other();
  record->field = 1;
  other();
  record->field = 2;
  other();
  record->field = 3;
}

// What takes longer to make crosses.
// CHECK-LABEL: define hidden void @called.in.{{[0-9a-f]+}}(ptr nest %0, ptr
// CHECK: tail call fastcc void @called.slow(ptr %1, i64 poison, i32 0){{.*}}, !dbg
// CHECK: tail call fastcc void @called.slow(ptr %1, i64 %{{.*}}, i32 1){{.*}}, !dbg
// CHECK: {{^}}}
void called(struct record *record) {
  long number = choose();
  other();
  record->other = number;
}

// Where the slow path goes back to the fast one's loop, the fast path makes a field's address itself.
// CHECK-LABEL: define hidden void @looped.in.{{[0-9a-f]+}}(
// CHECK-NOT: phi ptr
// CHECK: {{^}}}
void looped(struct record *record) {
  do {
    other();
    record->field = 1;
    other();
    record->field = 2;
  } while (choose());
}
