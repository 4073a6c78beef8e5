// Apache-25520: threads write to one log buffer: a record is copied to its end, then the end moves. Two threads that do
// so at once write over each other, and the log is garbage.
//
// Records have their thread's number and a sequence number. When the buffer is full it is written out, here to whoever checks
// the records. Failures: records that are damaged, and gaps.
//
// Filters: log_buffer.mutual (one writer at a time), .mutual_buffer (for each buffer), .unilateral (a writer is alone); .force (both
// records are copied before the end moves).
#include "race.h"

enum { BUFFER = 1024, RECORD = 32, PAUSE = 300, BUFFERS = 2 };

struct record {
  uint64_t thread, sequence, check, unused;
};

typedef struct {
  volatile size_t outcnt;
  // Whoever has found room may be late: there is some more.
  char outbuf[BUFFER + MAX_THREADS * RECORD];
  uint64_t last[MAX_THREADS]; // sequence numbers that were written out
} buffered_log;

static buffered_log logs[BUFFERS];

static uint64_t check_of(const struct record *record) { return (record->thread + 1) * 1000003 ^ record->sequence; }

static void flush_log(buffered_log *buf) {
  size_t length = buf->outcnt;
  for (size_t at = 0; at + RECORD <= length; at += RECORD) {
    struct record record;
    memcpy(&record, buf->outbuf + at, RECORD);
    if (record.check != check_of(&record) || record.thread >= MAX_THREADS) {
      failure();
      continue;
    }
    if (record.sequence != buf->last[record.thread] + 1)
      failure();
    buf->last[record.thread] = record.sequence;
  }
  memset(buf->outbuf, 0, sizeof buf->outbuf);
  buf->outcnt = 0;
}

__attribute__((noinline)) static void ap_buffered_log_writer(buffered_log *buf, const struct record *record) {
  if (buf->outcnt + RECORD > BUFFER) // [begin]
    flush_log(buf);
  char *s = &buf->outbuf[buf->outcnt];
  memcpy(s, record, RECORD); // [copy]
  delay();
  buf->outcnt += RECORD; // [end]
}

static void *worker(void *argument) {
  struct record record = {.thread = (uint64_t)(long)argument};
  buffered_log *buf = &logs[record.thread % BUFFERS];
  while (running()) {
    record.sequence++;
    record.check = check_of(&record);
    operation();
    ap_buffered_log_writer(buf, &record);
    usleep(PAUSE);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 200, 4);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  for (int i = 0; i < BUFFERS; ++i)
    flush_log(&logs[i]);
  return finish();
}
