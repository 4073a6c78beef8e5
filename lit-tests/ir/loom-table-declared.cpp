// Variables in memory, as unoptimized code has them: parameters have their values at the first slot, whatever way they are passed; locals
// from their first store on, or from where others know their address; all of it in functions without calls, too.
// RUN: %clangxx -O0 -g -S -emit-llvm %s -o %t.0.ll
// RUN: env COVSCHED_PASS_OPTIONS=loom %opt -load-pass-plugin=%plugin -passes='default<O0>,verify,print<covsched-loom>' -S %t.0.ll -o %t.01.ll 2> %t.0.txt
// RUN: %FileCheck %s < %t.0.txt
// RUN: %clangxx -O2 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.2.ll
// RUN: env COVSCHED_PASS_OPTIONS='loom<precise>' %opt -load-pass-plugin=%plugin -passes='default<O2>,verify,print<covsched-loom>' -S %t.2.ll -o %t.21.ll 2> %t.2.txt
// RUN: %FileCheck %s < %t.2.txt
int counter;
void fill(int *);
int next(int);

struct Pair { long first; int second; };
struct Large { long numbers[8]; };

// CHECK-LABEL: {{^}}function {{[0-9]+}} scalars
extern "C" void scalars(int *object, bool flag, char letter, int &reference) {
  counter += flag + letter; // CHECK: slot {{[0-9]+}} {- => loom-table-declared.cpp:[[@LINE]]} object flag letter reference ->
}

// CHECK-LABEL: {{^}}function {{[0-9]+}} records
extern "C" int records(Pair pair, Large large, int after) {
  return after; // CHECK: slot {{[0-9]+}} {- => loom-table-declared.cpp:[[@LINE]]} pair large after ->
}

// CHECK-LABEL: {{^}}function {{[0-9]+}} returned
extern "C" Large returned(int seed) {
  Large made; // CHECK: slot {{[0-9]+}} {- => loom-table-declared.cpp:{{[0-9]+}}} seed made ->
  made.numbers[0] = seed;
  return made;
}

// CHECK-LABEL: {{^}}function {{[0-9]+}} locals
extern "C" void locals(int n) {
  int first = n;    // CHECK: slot {{[0-9]+}} {- => loom-table-declared.cpp:[[@LINE]]} n ->
  int filled;
  fill(&filled);    // CHECK: slot {{[0-9]+}} {loom-table-declared.cpp:[[@LINE-2]] => loom-table-declared.cpp:[[@LINE]]} n first ->
  counter = first;  // CHECK: slot {{[0-9]+}} {loom-table-declared.cpp:[[@LINE-1]] => loom-table-declared.cpp:[[@LINE]]} n first filled ->
  int chosen;       // CHECK: slot {{[0-9]+}} {loom-table-declared.cpp:[[@LINE-1]] => loom-table-declared.cpp:[[@LINE+1]]} n first filled ->
  if (n)
    chosen = 1;
  counter = filled;
} // CHECK: slot {{[0-9]+}} {loom-table-declared.cpp:[[@LINE-1]] => loom-table-declared.cpp:[[@LINE]]} n first filled ->

// What a loop's variable was in the last iteration is not its value.
// CHECK-LABEL: {{^}}function {{[0-9]+}} loop
extern "C" void loop(int n) {
  while (n > 0) {
    counter = 0;     // CHECK: slot {{[0-9]+}} {{{.*}} => loom-table-declared.cpp:[[@LINE]]} n ->
    int own = n;     // CHECK: slot {{[0-9]+}} {{{.*}} => loom-table-declared.cpp:[[@LINE]]} n ->
    n = next(own);   // CHECK: slot {{[0-9]+}} {{{.*}} => loom-table-declared.cpp:[[@LINE]]} n own ->
  }
}

struct Log {
  int opened;
  explicit Log(int mode);
  __attribute__((noinline)) bool is_open() const;
};

// CHECK-LABEL: {{^}}function {{[0-9]+}} _ZN3LogC{{[12]}}Ei
Log::Log(int mode) : opened(mode) {} // CHECK: slot {{[0-9]+}} {- => loom-table-declared.cpp:[[@LINE]]} this mode ->

// CHECK-LABEL: {{^}}function {{[0-9]+}} _ZNK3Log7is_openEv
bool Log::is_open() const {
  return opened; // CHECK: slot {{[0-9]+}} {- => loom-table-declared.cpp:[[@LINE]]} this ->
}
