// PBZip2 (Wu, Fig. 5.4): main deletes the queue when all blocks have been taken from it, and does not wait for the threads
// that took them: those may still use the queue.
//
// In rounds. Failures: uses of a queue that is deleted; here it is only marked, and is there until the round ends.
//
// Filters: queue_freed.order (every consumer's last use comes before the deletion; numCPU is how many there are),
// .order_constant (the same with a number); .force (the deletion comes first).
#include "race.h"

enum { BLOCKS = 16, PAUSE = 200 };

typedef struct {
  pthread_mutex_t mut;
  int next;             // block
  volatile int deleted;
} queue;

static int numCPU;

static queue *queueInit(void) {
  queue *q = (queue *)calloc(1, sizeof *q);
  must(q != NULL, "calloc");
  pthread_mutex_init(&q->mut, NULL);
  return q;
}

__attribute__((noinline)) static void queueDelete(queue *q) { q->deleted = 1; }

// The next block; -1 if there is none.
static int take(queue *fifo) {
  pthread_mutex_lock(&fifo->mut);
  int block = fifo->next < BLOCKS ? fifo->next++ : -1;
  pthread_mutex_unlock(&fifo->mut);
  return block;
}

// Tells the queue that this consumer is done.
__attribute__((noinline)) static void leave(queue *fifo) {
  if (fifo->deleted)
    failure();
}

static void *decompress(void *q) {
  queue *fifo = (queue *)q;
  while (take(fifo) >= 0)
    operation();
  delay();
  leave(fifo); // [last]
  return NULL;
}

__attribute__((noinline)) static void run_round(void) {
  queue *fifo = queueInit();
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < numCPU; ++i)
    ids[i] = start(decompress, (long)fifo);
  for (int all_taken = 0; !all_taken;) {
    usleep(PAUSE);
    pthread_mutex_lock(&fifo->mut);
    all_taken = fifo->next == BLOCKS;
    pthread_mutex_unlock(&fifo->mut);
  }
  queueDelete(fifo); // [delete]
  for (int i = 0; i < numCPU; ++i)
    join(ids[i]);
  free(fifo);
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 500, 4);
  numCPU = threads;
  while (running())
    run_round();
  return finish();
}
