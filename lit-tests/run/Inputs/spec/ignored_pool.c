// The allocator of ignored.c: a list of blocks behind a lock.
#include <pthread.h>
#include <stdlib.h>

struct Block {
  struct Block *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct Block *blocks;

void *pool_get(void) {
  pthread_mutex_lock(&lock);
  struct Block *block = blocks;
  if (block)
    blocks = block->next;
  pthread_mutex_unlock(&lock);
  return block ? block : malloc(sizeof *block);
}

void pool_put(void *freed) {
  struct Block *block = freed;
  pthread_mutex_lock(&lock);
  block->next = blocks;
  blocks = block;
  pthread_mutex_unlock(&lock);
}
