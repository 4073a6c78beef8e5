// Threads that leave a barrier, and a pipe that main reads: compiled without markers, nothing says that main waits there.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static int ends[2];

static void *worker(void *arg) {
  pthread_barrier_wait(&barrier);
  if (arg && write(ends[1], "x", 1) != 1)
    return arg;
  return 0;
}

int main(void) {
  char byte = 0;
  pthread_t threads[2];
  if (pipe(ends))
    return 1;
  pthread_barrier_init(&barrier, 0, 2);
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, worker, i ? ends : 0);
  if (read(ends[0], &byte, 1) != 1)
    return 1;
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  printf("%c\n", byte);
}
