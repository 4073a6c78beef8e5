// longjmp out of functions that synchronize: calls that were left that way are not "inside" any more.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jmp_buf landing;
static int count;

__attribute__((noinline)) static void deepest(int jump) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x3
  count++;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x3
  if (jump)
    longjmp(landing, 1);
}

__attribute__((noinline)) static void deep(int jump) {
  deepest(jump); // SCHED: call x3
  count += 100;
}

int main(void) {
  for (volatile int i = 0; i < 3; ++i) {
    if (setjmp(landing) == 0)
      deep(1);                 // SCHED: call x3
    pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x3
    count++;
    pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x3
  }
  printf("count %d\n", count);
  return 0;
}
