// A parallel compressor: main makes blocks of text and puts them on a bounded queue, workers compress them and
// check that they decompress to the same, results are collected in order. The format is a small LZ77: a
// literal run (length, bytes) or a match (0x80 | length - 4, offset in two bytes). SIZE is the number of blocks
// of 16 KiB.
#include "bench.h"
#include <string.h>

enum { BLOCK = 1 << 14, PLACES = 8, MIN_MATCH = 4, MAX_MATCH = MIN_MATCH + 127, MAX_RUN = 127, HASH_BITS = 12 };

struct block {
  long number;
  unsigned char text[BLOCK];
};

static struct OWN_LINES {
  pthread_mutex_t lock;
  pthread_cond_t not_full, not_empty;
  struct block *places[PLACES];
  int used, head, closed;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER};

static uint32_t *checksums;
static long *lengths;

static void put(struct block *block) {
  pthread_mutex_lock(&queue.lock);
  while (queue.used == PLACES)
    pthread_cond_wait(&queue.not_full, &queue.lock);
  queue.places[(queue.head + queue.used++) % PLACES] = block;
  pthread_cond_signal(&queue.not_empty);
  pthread_mutex_unlock(&queue.lock);
}

static struct block *take(void) {
  struct block *block = NULL;
  pthread_mutex_lock(&queue.lock);
  while (queue.used == 0 && !queue.closed)
    pthread_cond_wait(&queue.not_empty, &queue.lock);
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
  queue.closed = 1;
  pthread_cond_broadcast(&queue.not_empty);
  pthread_mutex_unlock(&queue.lock);
}

static unsigned char *flush_literals(unsigned char *out, const unsigned char *from, const unsigned char *to) {
  while (from < to) {
    long run = to - from < MAX_RUN ? to - from : MAX_RUN;
    *out++ = (unsigned char)run;
    memcpy(out, from, run);
    out += run;
    from += run;
  }
  return out;
}

static long compress(const unsigned char *text, unsigned char *out) {
  int recent[1 << HASH_BITS];
  memset(recent, -1, sizeof recent);
  const unsigned char *literals = text;
  unsigned char *start = out;
  for (long i = 0; i + MIN_MATCH <= BLOCK;) {
    uint32_t word;
    memcpy(&word, text + i, sizeof word);
    uint32_t hash = word * 2654435761u >> (32 - HASH_BITS);
    int candidate = recent[hash];
    recent[hash] = (int)i;
    if (candidate < 0 || memcmp(text + candidate, text + i, MIN_MATCH) != 0) {
      ++i;
      continue;
    }
    long length = MIN_MATCH;
    while (length < MAX_MATCH && i + length < BLOCK && text[candidate + length] == text[i + length])
      ++length;
    out = flush_literals(out, literals, text + i);
    *out++ = (unsigned char)(0x80 | (length - MIN_MATCH)); // [often]
    *out++ = (unsigned char)(i - candidate);
    *out++ = (unsigned char)((i - candidate) >> 8);
    i += length;
    literals = text + i;
  }
  return flush_literals(out, literals, text + BLOCK) - start;
}

static long decompress(const unsigned char *in, long length, unsigned char *text) {
  const unsigned char *end = in + length;
  long at = 0;
  while (in < end) {
    long count = *in & 0x7f;
    if (*in++ & 0x80) {
      long offset = in[0] | in[1] << 8;
      in += 2;
      for (count += MIN_MATCH; count > 0; --count, ++at)
        text[at] = text[at - offset];
    } else {
      memcpy(text + at, in, count);
      in += count;
      at += count;
    }
  }
  return at;
}

static void *worker(void *arg) {
  unsigned char *packed = allocate(2, BLOCK), *back = allocate(2, BLOCK);
  for (struct block *block; (block = take());) {
    long length = compress(block->text, packed);
    if (decompress(packed, length, back) != BLOCK || memcmp(back, block->text, BLOCK) != 0)
      abort();
    uint32_t checksum = 1;
    for (long i = 0; i < length; ++i)
      checksum = checksum * 31 + packed[i];
    checksums[block->number] = checksum;
    lengths[block->number] = length;
    free(block);
  }
  free(packed); // [rare]
  free(back);
  return arg;
}

// Text of words from a small vocabulary, common ones more often.
static struct block *make_block(long number) {
  static const char *const words[] = {"the ",    "of ",     "thread ", "a ",     "lock ",  "waits ",    "and ",  "schedule ",
                                      "barrier ", "signal ", "queue ",  "order ", "wakes ", "happens ", "before ", "once\n"};
  struct block *block = allocate(1, sizeof *block);
  uint64_t seed = (uint64_t)number;
  block->number = number;
  for (long at = 0; at < BLOCK;) {
    uint64_t random = next_random(&seed);
    const char *word = words[random % 16 * (random >> 32) % 16];
    for (; *word && at < BLOCK; ++word)
      block->text[at++] = (unsigned char)*word;
    if (random >> 60 == 0 && at < BLOCK)
      block->text[at++] = (unsigned char)('0' + (random >> 8) % 10);
  }
  return block;
}

static void *produce(void *arg) {
  for (long i = 0; i < size; ++i)
    put(make_block(i));
  close_queue();
  return arg;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 4000);
  checksums = allocate(size, sizeof *checksums);
  lengths = allocate(size, sizeof *lengths);
  pthread_t producer;
  if (pthread_create(&producer, NULL, produce, NULL) != 0)
    abort();
  run_threads(worker);
  pthread_join(producer, NULL);
  uint32_t checksum = 1;
  long total = 0;
  for (long i = 0; i < size; ++i) {
    checksum = checksum * 31 + checksums[i];
    total += lengths[i];
  }
  printf("compressor %ld: %ld of %ld bytes, %08x\n", size, total, size * BLOCK, checksum);
  return 0;
}
