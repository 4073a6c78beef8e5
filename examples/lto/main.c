// Two files for link-time optimization: the linker inlines `add` into the loop, and each lock keeps its site.
//
//   covsched cc -O2 -flto -fuse-ld=lld -pthread main.c account.c -o lto
//   covsched record -o lto.sched -- ./lto && covsched show lto.sched
#include "account.h"
#include <pthread.h>
#include <stdio.h>

static struct account account = {PTHREAD_MUTEX_INITIALIZER, 0};

static void *worker(void *arg) {
  for (int i = 0; i < 4; ++i)
    add(&account, i);
  return arg;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, worker, NULL); // SCHED: pthread_create x2
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x2
  printf("balance %d\n", balance(&account));
  return 0;
}
