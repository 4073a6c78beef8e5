// MySQL-791 (Wu, Fig. 5.2): the binary log is rotated by closing it and opening the next file. A thread that has a record to
// write looks first, without the lock, whether the log is open at all; between close and open it finds that it is not,
// and its record is lost.
//
// Failures: records that were not written. At the end the records in the files are counted, too.
//
// Filters: log_rotation.mutual (nobody asks whether the log is open while it is between close and open), .mutual_this (the
// same, for each log), .unilateral (whoever rotates is alone meanwhile); .force (the question comes between close and open).
//
//   covsched cc --loom -O2 -pthread log_rotation.cpp -o log_rotation && ./log_rotation 60 &
//   covsched loom add $! filters/log_rotation.mutual.loom
#include "race.h"
#include <sys/stat.h>

enum { RECORD = 32, PAUSE = 200, ROTATE_EVERY = 2000 };

class MYSQL_LOG {
public:
  explicit MYSQL_LOG(const char *folder) : folder(folder) {
    pthread_mutex_init(&LOCK_log, NULL);
    open();
  }

  bool is_open() const { return log_type != CLOSED; }

  void write(const char *record) { must(::write(file, record, RECORD) == RECORD, "write"); }

  // Rotates the log.
  __attribute__((noinline)) void new_file() {
    pthread_mutex_lock(&LOCK_log);
    close(); // [close]
    delay();
    open(); // [open]
    pthread_mutex_unlock(&LOCK_log);
  }

  void open() {
    char path[256];
    snprintf(path, sizeof path, "%s/log.%d", folder, number++ % 2);
    file = ::open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    must(file >= 0, path);
    log_type = NORMAL;
  }

  void close() {
    log_type = CLOSED;
    struct stat status;
    must(fstat(file, &status) == 0, "fstat");
    records += status.st_size / RECORD;
    ::close(file);
  }

  void remove() {
    for (int i = 0; i < 2; ++i) {
      char path[256];
      snprintf(path, sizeof path, "%s/log.%d", folder, i);
      unlink(path);
    }
    rmdir(folder);
  }

  pthread_mutex_t LOCK_log;
  long records = 0; // in closed files

private:
  enum { CLOSED, NORMAL };
  volatile int log_type = CLOSED;
  const char *folder;
  int file = -1, number = 0;
};

static MYSQL_LOG *mysql_bin_log;

// An INSERT: the row, then its record in the log.
__attribute__((noinline)) static void mysql_insert(long thread, unsigned long row) {
  char record[RECORD] = {0};
  snprintf(record, sizeof record, "insert %ld %lu\n", thread, row);
  operation();
  if (mysql_bin_log->is_open()) { // [check]
    pthread_mutex_lock(&mysql_bin_log->LOCK_log);
    if (mysql_bin_log->is_open())
      mysql_bin_log->write(record);
    else
      failure();
    pthread_mutex_unlock(&mysql_bin_log->LOCK_log);
  } else {
    failure();
  }
}

static void *client(void *argument) {
  for (unsigned long row = 0; running(); ++row) {
    mysql_insert((long)argument, row);
    usleep(PAUSE);
  }
  return NULL;
}

static void *rotator(void *argument) {
  while (running()) {
    usleep(ROTATE_EVERY);
    mysql_bin_log->new_file();
  }
  return argument;
}

// Does not happen: filters on it are for tests.
__attribute__((noinline)) static void abandon(const char *why) {
  fprintf(stderr, "%s\n", why); // [never]
  mysql_bin_log->remove();
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 1000, 4);
  char folder[] = "/tmp/log_rotation.XXXXXX";
  must(mkdtemp(folder) != NULL, "mkdtemp");
  MYSQL_LOG log(folder);
  mysql_bin_log = &log;
  if (threads > 32)
    abandon("too many clients");
  pthread_t ids[MAX_THREADS], rotating = start(rotator, 0);
  for (int i = 0; i < threads; ++i)
    ids[i] = start(client, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  join(rotating);
  log.close();
  log.remove();
  if ((uint64_t)log.records + counters->failures != counters->operations) {
    fprintf(stderr, "the log has %ld records\n", log.records);
    return 3;
  }
  return finish();
}
