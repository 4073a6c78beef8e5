// An inline C++ function has the same sites in every unit, also where one unit knows a callee that the other does
// not, and where a static function of a header is in between. Recompiling changes nothing; neither does an edit above.
// RUN: %clangxx -gline-tables-only -fpass-plugin=%plugin -c %s -o %t.1.o
// RUN: %clangxx -gline-tables-only -fpass-plugin=%plugin -c %s -o %t.2.o
// RUN: cmp %t.1.o %t.2.o
// RUN: rm -rf %t.dir && mkdir %t.dir && cp %s %t.dir/one.cpp && cp %s %t.dir/two.cpp
// RUN: cd %t.dir && %clangxx -std=c++17 -gline-tables-only -Xclang -disable-llvm-passes -S -emit-llvm one.cpp -o one.ll
// RUN: cd %t.dir && %clangxx -std=c++17 -gline-tables-only -Xclang -disable-llvm-passes -S -emit-llvm -DKNOWS two.cpp -o two.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output %t.dir/one.ll 2> %t.dir/one.txt
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output %t.dir/two.ll 2> %t.dir/two.txt
// RUN: grep -E ' (true|derived) ' %t.dir/one.txt | grep -v 'only_here()' | sed -e 's/ one.cpp:/ /' | sort > %t.dir/one.sites
// RUN: grep -E ' (true|derived) ' %t.dir/two.txt | grep -v 'only_here()' | sed -e 's/ two.cpp:/ /' | sort > %t.dir/two.sites
// The unit that knows that helper() does not synchronize has one derived site less, and no other difference.
// RUN: %not diff %t.dir/one.sites %t.dir/two.sites > %t.dir/diff
// RUN: grep -c '^[<>]' %t.dir/diff | %FileCheck %s --check-prefix=ONE
// RUN: %FileCheck %s --check-prefix=DIFF < %t.dir/diff
// ONE: {{^1$}}
// DIFF: < {{[0-9a-f]+}} derived {{.*}} shared(int) -> helper(int)
// RUN: %FileCheck %s < %t.dir/one.txt
// CHECK-DAG: {{^}}[[FIRST:[0-9a-f]+]] true {{.*}}gthr-default.h:{{[0-9]+}}:{{[0-9]+}} __gthread_mutex_lock(pthread_mutex_t*) -> pthread_mutex_lock
// CHECK-DAG: derived one.cpp:{{[0-9]+}}:{{[0-9]+}} shared(int) -> std::mutex::lock()
#include <condition_variable>
#include <mutex>

#ifdef KNOWS
inline int helper(int x) { return x + 1; }
#else
int helper(int);
#endif

inline std::mutex &lock_of_all() {
  static std::mutex m;
  return m;
}

inline int shared(int x) {
  lock_of_all().lock();
  int r = helper(x);
  lock_of_all().unlock();
  std::condition_variable c;
  c.notify_all();
  return r;
}

int only_here() { return shared(1); }
