// MySQL-169: a DELETE changes the table, then writes to the log, and both together are not atomic. Another statement that
// comes in between is in the log before it, and whoever replays the log ends up with another table.
//
// Each statement gives its row a new version and logs row and version. Failures: a version that comes into the log after a
// later one of its row.
//
// Filters: table_and_log.mutual (no statement between the two steps of another), .mutual_row (of another on the same row),
// .unilateral (alone between the two steps), .functions (the functions exclude each other); .force (the insert between the two steps of
// the delete).
#include "race.h"

enum { ROWS = 2, PAUSE = 300 };

static uint64_t versions;
static volatile uint64_t table[ROWS];
static uint64_t logged[ROWS]; // by the last record of the log

static uint64_t update_table(long row, int present) {
  uint64_t version = __atomic_add_fetch(&versions, 1, __ATOMIC_SEQ_CST);
  table[row] = version << 1 | (unsigned)present;
  return version;
}

static void write_log(long row, uint64_t version) {
  if (__atomic_exchange_n(&logged[row], version, __ATOMIC_SEQ_CST) > version)
    failure();
}

__attribute__((noinline)) static void mysql_delete(long row) {
  operation();
  uint64_t version = update_table(row, 0); // [delete-table]
  delay();
  write_log(row, version); // [delete-log]
}

__attribute__((noinline)) static void mysql_insert(long row) {
  operation();
  uint64_t version = update_table(row, 1); // [insert-table]
  write_log(row, version); // [insert-log]
}

static void *deleter(void *argument) {
  unsigned seed = (unsigned)(long)argument;
  while (running()) {
    mysql_delete(rand_r(&seed) % ROWS);
    usleep(PAUSE);
  }
  return NULL;
}

static void *inserter(void *argument) {
  unsigned seed = (unsigned)(long)argument;
  while (running()) {
    mysql_insert(rand_r(&seed) % ROWS);
    usleep(PAUSE);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 500, 4);
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(i % 2 ? inserter : deleter, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
