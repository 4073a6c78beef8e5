// Each linked object registers its own tables: the executable (with an archive), a shared object, a dlopened one.
// RUN: rm -rf %t && mkdir %t && cp %s %t/main.c && cp %s %t/lib.c && cp %s %t/plug.c && cp %s %t/arch.c
// RUN: %clang -O1 -c %S/../Inputs/stand-in.c -o %t/stand-in.o
// RUN: cd %t && %clang -O2 -gline-tables-only -fpass-plugin=%plugin -fPIC -DLIB -shared lib.c -o liblib.so
// RUN: cd %t && %clang -O2 -gline-tables-only -fpass-plugin=%plugin -fPIC -DPLUG -shared plug.c -o plug.so
// RUN: cd %t && %clang -O2 -gline-tables-only -fpass-plugin=%plugin -DARCH -c arch.c && llvm-ar-16 rc libarch.a arch.o
// RUN: cd %t && %clang -O2 -gline-tables-only -fpass-plugin=%plugin -c main.c && %clang main.o stand-in.o -L. -larch -llib '-Wl,--export-dynamic-symbol=covsched_*' -Wl,-rpath,%t -o main
// RUN: cd %t && ./main | %FileCheck %s
// CHECK: unit lib.c: 1 sites
// CHECK-NEXT: registered version 1 size 32: 1 tables, 1 sites
// CHECK-DAG: unit main.c: 7 sites
// CHECK-DAG: unit arch.c: 1 sites
// CHECK: registered version 1 size 32: 2 tables, 8 sites
// CHECK: lock
// CHECK: lock
// CHECK: unit plug.c: 1 sites
// CHECK-NEXT: registered version 1 size 32: 1 tables, 1 sites
// CHECK-NEXT: lock
#include <dlfcn.h>
#include <pthread.h>
void lock_in_lib(void), lock_in_arch(void);
#ifdef LIB
static pthread_mutex_t m;
void lock_in_lib(void) { pthread_mutex_lock(&m); }
#elif defined(PLUG)
static pthread_mutex_t m;
void lock_in_plug(void) { pthread_mutex_lock(&m); }
#elif defined(ARCH)
static pthread_mutex_t m;
void lock_in_arch(void) { pthread_mutex_lock(&m); }
#else
int main(void) {
  lock_in_lib();
  lock_in_arch();
  void *plug = dlopen("./plug.so", RTLD_NOW);
  if (!plug)
    return 1;
  ((void (*)(void))dlsym(plug, "lock_in_plug"))();
  dlclose(plug);
  return 0;
}
#endif
