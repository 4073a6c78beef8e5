// A compressor with a queue, in the manner of pbzip2: the main thread cuts the input into blocks and puts them into a bounded
// queue, workers take and compress them, and the main thread writes them in their order.
//
//   covsched cc -O2 -pthread compressor.c -o compressor
//   covsched record -o compressor.sched -- ./compressor 2 4 7
//   covsched specialize compressor --schedule compressor.sched --facts compressor.json
//
// A schedule with two workers and four blocks covers every content (the third argument). Under it each change of the queue is
// known: who puts or takes where, how many blocks are in it. So is which worker compresses which block, and what
// it writes is nobody else's.
// RECORDED: 2 4 7
// COVERED: 2 4 90
// LEAVES: 2 5 7
// LEAVES: 3 4 7
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 8, MOST_BLOCKS = 16, BLOCK = 256, PLACES = 3 };

struct block {
  int number, size, packed_size;
  unsigned char data[BLOCK], packed[2 * BLOCK];
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t not_full, not_empty;
  struct block *places[PLACES];
  int head, used, is_closed;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL}, 0, 0, 0};

static int threads, block_count;
static struct block *done[MOST_BLOCKS];

static void put(struct block *block) {
  pthread_mutex_lock(&queue.lock);
  while (queue.used == PLACES)
    pthread_cond_wait(&queue.not_full, &queue.lock);
  int place = (queue.head + queue.used) % PLACES;
  queue.places[place] = block;
  queue.used++;
  pthread_cond_signal(&queue.not_empty);
  pthread_mutex_unlock(&queue.lock);
}

static struct block *take(void) {
  pthread_mutex_lock(&queue.lock);
  while (queue.used == 0 && !queue.is_closed)
    pthread_cond_wait(&queue.not_empty, &queue.lock);
  struct block *block = NULL;
  if (queue.used > 0) {
    block = queue.places[queue.head];
    queue.head = (queue.head + 1) % PLACES;
    queue.used--;
    pthread_cond_signal(&queue.not_full);
  }
  pthread_mutex_unlock(&queue.lock);
  return block;
}

static void close_queue(void) {
  pthread_mutex_lock(&queue.lock);
  queue.is_closed = 1;
  pthread_cond_broadcast(&queue.not_empty);
  pthread_mutex_unlock(&queue.lock);
}

// Runs of equal bytes become a count and the byte.
static void compress(struct block *block) {
  int out = 0;
  for (int i = 0; i < block->size;) {
    int run = 1;
    while (i + run < block->size && run < 255 && block->data[i + run] == block->data[i])
      run++;
    block->packed[out++] = (unsigned char)run;
    block->packed[out++] = block->data[i];
    i += run;
  }
  block->packed_size = out;
}

static void *worker(void *unused) {
  for (;;) {
    struct block *block = take();
    if (block == NULL)
      break;
    compress(block);
    done[block->number] = block; // DISJOINT self
  }
  return unused;
}

static struct block *make_block(int number, unsigned seed) {
  struct block *block = malloc(sizeof *block);
  block->number = number;
  block->size = BLOCK;
  for (int i = 0; i < BLOCK; i++) {
    if (i % 8 == 0)
      seed = seed * 1103515245u + 12345u;
    block->data[i] = (unsigned char)(seed >> (16 + i % 8 / 4));
  }
  return block;
}

int main(int argc, char *argv[]) {
  threads = argc > 1 ? atoi(argv[1]) : 2;     // CONST t0 call 2
  block_count = argc > 2 ? atoi(argv[2]) : 4; // CONST t0 call 4
  unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : 7;
  if (threads < 1 || threads > MOST_THREADS || block_count < 0 || block_count > MOST_BLOCKS)
    return 2;
  pthread_t children[MOST_THREADS];
  for (int i = 0; i < threads; i++)
    pthread_create(&children[i], NULL, worker, NULL);
  for (int i = 0; i < block_count; i++)
    put(make_block(i, seed + (unsigned)i));
  close_queue();
  for (int i = 0; i < threads; i++)
    pthread_join(children[i], NULL);
  int left = queue.used;       // CONST t0 load 0
  int closed = queue.is_closed; // CONST t0 load 1
  unsigned long hash = 0;
  int before = 0, after = 0;
  for (int i = 0; i < block_count; i++) { // TRIPS t0 4
    struct block *block = done[i];
    before += block->size;
    after += block->packed_size;
    for (int j = 0; j < block->packed_size; j++)
      hash = hash * 31 + block->packed[j];
    free(block);
  }
  printf("compressor: %d bytes became %d, hash %lx, %d left, %s\n", before, after, hash, left, closed ? "closed" : "open");
  return 0;
}
