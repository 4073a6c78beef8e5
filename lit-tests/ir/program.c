// The whole way with a stand-in for the runtime: tables are registered, hooks are called with the sites that
// print<covsched-sites> names; at every level, PIE and not, with sections collected, under AddressSanitizer.
// RUN: rm -rf %t && mkdir %t && cp %s %t/program.c
// RUN: %clang -O1 -c %S/../Inputs/stand-in.c -o %t/stand-in.o
// RUN: cd %t && %clang -gline-tables-only -S -emit-llvm program.c -o program.ll && %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output program.ll 2> sites.txt
// RUN: cd %t && %clang -O0 -gline-tables-only -fpass-plugin=%plugin -c program.c && %clang program.o stand-in.o -o O0 && ./O0 > O0.txt && cat sites.txt O0.txt | %FileCheck %s
// RUN: cd %t && %clang -O2 -gline-tables-only -fpass-plugin=%plugin -c program.c && %clang program.o stand-in.o -o O2 && ./O2 > O2.txt && cat sites.txt O2.txt | %FileCheck %s
// RUN: cd %t && %clang -O3 -gline-tables-only -fno-pie -ffunction-sections -fdata-sections -fpass-plugin=%plugin -c program.c && %clang -no-pie -Wl,--gc-sections program.o stand-in.o -o gc && ./gc > gc.txt && cat sites.txt gc.txt | %FileCheck %s
// RUN: cd %t && %clang -O3 -gline-tables-only -fPIE -ffunction-sections -fpass-plugin=%plugin -c program.c && %clang -fuse-ld=lld -pie -Wl,--gc-sections program.o stand-in.o -o gclld && ./gclld > gclld.txt && cat sites.txt gclld.txt | %FileCheck %s
// RUN: cd %t && %clang -O1 -gline-tables-only -fsanitize=address -fpass-plugin=%plugin -c program.c && %clang -fsanitize=address program.o stand-in.o -o asan && ./asan > asan.txt && cat sites.txt asan.txt | %FileCheck %s
// Markers run only while the byte is set.
// RUN: cd %t && env STAND_IN_ACTIVE=1 ./O2 > active.txt && cat sites.txt active.txt | %FileCheck %s --check-prefix=ACTIVE
// The bitcode is kept, and not loaded with the program.
// RUN: %llvm-readelf -SW %t/gc | %FileCheck %s --check-prefix=SECTIONS
// SECTIONS: covsched_sites PROGBITS {{.*}} AR 0
// SECTIONS: .llvmcmd PROGBITS 0000000000000000 {{[0-9a-f]+}} {{[0-9a-f]+}} 00 0 0 8
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int (*through_pointer)(pthread_mutex_t *) = pthread_mutex_lock;

// CHECK-DAG: [[ENTRY:[0-9a-f]+]] entry program.c:[[@LINE+14]]:0 worker ->
// CHECK-DAG: [[LOCK:[0-9a-f]+]] true {{.*}} worker -> pthread_mutex_lock
// CHECK-DAG: [[UNLOCK:[0-9a-f]+]] true {{.*}} worker -> pthread_mutex_unlock
// CHECK-DAG: [[CREATE:[0-9a-f]+]] true {{.*}} main -> pthread_create
// CHECK-DAG: [[JOIN:[0-9a-f]+]] true {{.*}} main -> pthread_join
// CHECK-DAG: [[POINTER:[0-9a-f]+]] true - pthread_mutex_lock -> pthread_mutex_lock
// CHECK: unit program.c: 10 sites
// CHECK-NEXT: registered version 1 size 32: 1 tables, 10 sites
// CHECK-NEXT: create [[CREATE]]
// CHECK-NOT: enter
// CHECK-DAG: lock [[LOCK]]
// CHECK-DAG: unlock [[UNLOCK]]
// CHECK-DAG: join [[JOIN]]
// CHECK: lock [[POINTER]]
static void *worker(void *p) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  return p;
}

// ACTIVE-DAG: [[MAIN:[0-9a-f]+]] entry {{.*}} main ->
// ACTIVE-DAG: [[RETURN:[0-9a-f]+]] exit {{.*}} main ->
// ACTIVE-DAG: [[ENTRY:[0-9a-f]+]] entry {{.*}} worker ->
// ACTIVE-DAG: [[CALL:[0-9a-f]+]] derived {{.*}} main -> *
// ACTIVE: main_enter [[MAIN]]
// ACTIVE: thread_enter [[ENTRY]]
// ACTIVE: derived_enter [[CALL]]
// ACTIVE-NEXT: lock
// ACTIVE-NEXT: derived_leave 0
// ACTIVE-NEXT: thread_exit 1 [[RETURN]]
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_join(t, 0);
  through_pointer(&m);
  return 0;
}
