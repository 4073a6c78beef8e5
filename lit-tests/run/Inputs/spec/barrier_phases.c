// Barrier phases with 4 threads; how much each does in a phase is data, how many phases there are is not.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static long cells[4][2];
static int phases, width;

static void *worker(void *data) {
  long id = (long)data;
  for (int phase = 0; phase < phases; phase++) {
    long left = cells[(id + 3) % 4][phase % 2], right = cells[(id + 1) % 4][phase % 2], sum = 0;
    for (int i = 0; i < width; i++)
      sum += left * i + right;
    cells[id][(phase + 1) % 2] = sum;
    pthread_barrier_wait(&barrier);
  }
  return 0;
}

int main(int count, char **arguments) {
  phases = count > 1 ? atoi(arguments[1]) : 3;
  width = count > 2 ? atoi(arguments[2]) : 10;
  pthread_t threads[4];
  pthread_barrier_init(&barrier, 0, 4);
  for (int i = 0; i < 4; i++)
    cells[i][0] = i + 1;
  for (long i = 0; i < 4; i++)
    pthread_create(&threads[i], 0, worker, (void *)i);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], 0);
  pthread_barrier_destroy(&barrier);
  for (int i = 0; i < 4; i++)
    printf("%ld ", cells[i][phases % 2]);
  printf("\n");
  return 0;
}
