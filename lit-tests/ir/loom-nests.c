// Loops that count run in strips; of a nest the outer one, where an iteration of it is short, so that nothing is checked in the
// inner one. What an iteration costs is computed before the outermost loop in which it is known.
// RUN: %clang -O2 -fno-unroll-loops -fno-vectorize -fno-discard-value-names -g -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -passes=loom,verify -S %t.ll | %FileCheck %s
// Nothing is divided by what may have no value: the inner loop may never be begun.
// RUN: %clang -O2 -fno-unroll-loops -fno-vectorize -fno-discard-value-names -Xclang -no-enable-noundef-analysis -g -S -emit-llvm %s -o %t.undef.ll
// RUN: %opt -load-pass-plugin=%plugin -passes=loom,verify -S %t.undef.ll | %FileCheck --check-prefix=UNDEF %s
// UNDEF: freeze i64 %columns
// UNDEF: udiv i32 32768,

// CHECK-LABEL: define dso_local void @nest(
// CHECK: %[[ITERATIONS:.*]] = udiv i32 32768,
// CHECK: %[[LONG:.*]] = icmp ult i32 %[[ITERATIONS]], 2
// CHECK: br i1 %[[LONG]], label %first.long, label %first
// The copy for long inner loops: these in strips, and a check for each iteration of the outer one.
// CHECK: first.long:
// CHECK: call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
// CHECK: {{^}}strip.end:
// CHECK: {{^}}first:
// CHECK: call i8 asm {{.*}}"testq %rsp, $1"{{.*}}@covsched.loom.functions
// CHECK: {{^}}strip{{[0-9]+}}:
// CHECK-NOT: {{load volatile|testq}}
// CHECK: br i1 %{{.*}}, label %strip.end{{[0-9]+}}, {{.*}}!covsched.strip
// CHECK-NOT: {{load volatile|testq}}
// CHECK: br i1 %{{.*}}, !covsched.strip
// CHECK: {{^}}}
void nest(double *to, const double *from, long rows, long columns) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j)
      to[j] += from[i] * from[j];
}
