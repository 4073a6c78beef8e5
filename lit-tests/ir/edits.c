// Sites survive edits elsewhere: other functions, other lines, other calls in the same function.
// RUN: %clang -gline-tables-only -S -emit-llvm %s -o %t.1.ll
// RUN: %clang -gline-tables-only -S -emit-llvm -DEDITED %s -o %t.2.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output %t.1.ll 2>&1 | cut -d' ' -f1 | sort > %t.1
// RUN: %opt -load-pass-plugin=%plugin -passes='print<covsched-sites>' -disable-output %t.2.ll 2>&1 | cut -d' ' -f1 | sort > %t.2
// RUN: comm -23 %t.1 %t.2 | %count 0
// RUN: comm -13 %t.1 %t.2 | %count 4
#include <pthread.h>
extern void audit(void);
pthread_mutex_t m;
#ifdef EDITED
void new_function(void) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
}

#endif
static void worker(void) {
#ifdef EDITED
  audit();
#endif
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
}
int main(void) {
  worker();
#ifdef EDITED
  pthread_cond_signal((pthread_cond_t *)0);
#endif
  return 0;
}
