// A program in four parts: a.c is main; b.c goes into a static archive; c.c into a shared object that is
// linked; d.c into one that is opened while the program runs. Each part synchronizes, each has its own site
// table, and the schedule names the lines of all four.
//
//   covsched cc -O2 -c a.c b.c && ar rcs libb.a b.o
//   covsched cc -O2 -shared -fPIC c.c -o libc_part.so && covsched cc -O2 -shared -fPIC d.c -o libd_part.so
//   covsched cc -pthread a.o libb.a libc_part.so -Wl,-rpath,. -o two_files
//   covsched record -o two_files.sched -- ./two_files && covsched show two_files.sched
#include "parts.h"
#include <dlfcn.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int count;

int main(void) {
  pthread_t threads[3];
  void *opened = dlopen("libd_part.so", RTLD_NOW);
  if (!opened) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  void *(*d_worker)(void *) = (void *(*)(void *))dlsym(opened, "d_worker");
  pthread_create(&threads[0], NULL, b_worker, NULL); // SCHED: pthread_create x1
  pthread_create(&threads[1], NULL, c_worker, NULL); // SCHED: pthread_create x1
  pthread_create(&threads[2], NULL, d_worker, NULL); // SCHED: pthread_create x1
  for (int i = 0; i < 3; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x3
  dlclose(opened);
  printf("count %d\n", count);
  return 0;
}
