// What a landing pad gives for a type is a number in its own function's table. So a function with handlers by type stays whole: in a
// function of its own the slow path would take the number for another type. Cleanups and handlers of everything ask for no type.
// RUN: %clangxx -O1 -g -S -emit-llvm %s -o - | %opt -load-pass-plugin=%plugin -passes=loom,verify -S -o %t.ll
// RUN: %FileCheck %s < %t.ll
// RUN: %FileCheck --check-prefix=SPLIT %s < %t.ll
void acts(int n);
void notes(int n);
struct Cleans {
  ~Cleans() { notes(1); }
};

// CHECK-NOT: @_Z{{[0-9]+}}byType{{.*}}.slow(
// CHECK: {{^}}define {{.*}}@_Z6byTypei.in.{{[0-9a-f]+}}(
// CHECK: body.slow:
// CHECK-NOT: @_Z{{[0-9]+}}byType{{.*}}.slow(
int byType(int n) {
  try {
    acts(n);
  } catch (int caught) {
    return caught;
  } catch (double) {
    return 2;
  }
  return 0;
}

// SPLIT-DAG: define internal {{.*}}@_Z6cleansi.body.slow(
void cleans(int n) {
  Cleans on;
  acts(n);
}

// SPLIT-DAG: define internal {{.*}}@_Z10everythingi.slow(
int everything(int n) {
  try {
    acts(n);
  } catch (...) {
    notes(n);
    return 1;
  }
  return 0;
}
