// A database server as in Wu's Fig. 5.7: each worker serves a client in a loop around a blocking recv, opens the table that the
// request names, works, closes it. The race: two workers have the same table open. The fix locks in open_table and unlocks in
// close_table; between the two somebody is always at work, and handle_client never returns, so that no moment comes
// at which either could be replaced: function quiescence would wait for ever.
//
// The load comes from a process of its own (a fork before there are threads), one thread and connection a worker, each with one
// request on its way. Every request and reply is counted. THREADS: workers (16). MICROSECONDS: how long a worker sleeps in the
// region, 0 for none.
//
// Failures: openings of a table that was open. Besides: `N requests, N replies, N lost, N quiet, N empty`, where quiet says how often
// no worker was inside handle_client, and empty how often no worker had a table open, while there was load.
//
// Filters: table_server.mutual (a table is opened by one worker at a time), .mutual_all (one worker has one open), .functions (no two
// workers inside open_table or close_table at once), .unilateral (who has a table open is alone), .often (a line that every request
// executes), .rare (a line that almost none executes).
#include "race.h"
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { TABLES = 4, ROWS = 64, RARE = 4096 };

// Words of `counters->more`.
enum { REQUESTS, REPLIES, QUIET, EMPTY, RESPONSE_NS, LONGEST_NS, STOP, WORK };

struct client_req {
  uint32_t table_id, sequence;
};

struct reply {
  uint32_t table_id, sequence;
  uint64_t sum;
};

static struct table {
  int users;
  uint64_t rows[ROWS];
} tables[TABLES];

static int connections[MAX_THREADS][2];
static int serving, open_tables;
static volatile uint64_t vacuumed;

__attribute__((noinline)) static void open_table(int table_id) {
  struct table *table = &tables[table_id]; // [opening]
  if (__atomic_fetch_add(&table->users, 1, __ATOMIC_SEQ_CST) != 0)
    failure();
  __atomic_fetch_add(&open_tables, 1, __ATOMIC_SEQ_CST); // [open]
}

__attribute__((noinline)) static void close_table(int table_id) {
  if (__atomic_sub_fetch(&open_tables, 1, __ATOMIC_SEQ_CST) == 0 && !counters->more[STOP])
    add(&counters->more[EMPTY], 1);
  __atomic_fetch_sub(&tables[table_id].users, 1, __ATOMIC_SEQ_CST); // [closing]
}

__attribute__((noinline)) static void vacuum(int table_id) {
  vacuumed += (uint64_t)table_id; // [vacuum]
}

// Real work: all rows are read, some change.
__attribute__((noinline)) static uint64_t work(int table_id, uint32_t sequence) {
  uint64_t sum = 0, rounds = counters->more[WORK];
  for (uint64_t round = 0; round <= rounds; ++round)
    for (int row = 0; row < ROWS; ++row)
      sum = sum * 31 + __atomic_load_n(&tables[table_id].rows[row], __ATOMIC_RELAXED);
  __atomic_fetch_add(&tables[table_id].rows[sequence % ROWS], 1, __ATOMIC_RELAXED);
  delay();
  return sum;
}

__attribute__((noinline)) static void handle_client(int fd) {
  for (;;) {
    struct client_req req;
    ssize_t ret = recv(fd, &req, sizeof req, MSG_WAITALL);
    if (ret <= 0)
      break;
    must(ret == sizeof req && req.table_id < TABLES, "request");
    struct reply reply = {req.table_id, req.sequence, 0};
    operation();
    if (req.sequence % RARE == RARE - 1)
      vacuum((int)req.table_id);
    open_table((int)req.table_id);
    reply.sum = work((int)req.table_id, req.sequence); // [work]
    close_table((int)req.table_id);
    must(send(fd, &reply, sizeof reply, 0) == sizeof reply, "send");
  }
}

static void *worker(void *argument) {
  __atomic_fetch_add(&serving, 1, __ATOMIC_SEQ_CST);
  handle_client(connections[(long)argument][0]);
  if (__atomic_sub_fetch(&serving, 1, __ATOMIC_SEQ_CST) == 0 && !counters->more[STOP])
    add(&counters->more[QUIET], 1);
  return NULL;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *client(void *argument) {
  int fd = connections[(long)argument][1];
  unsigned seed = (unsigned)(long)argument;
  struct client_req req = {0, 0};
  for (; !__atomic_load_n(&counters->more[STOP], __ATOMIC_RELAXED); ++req.sequence) {
    struct reply reply;
    req.table_id = (uint32_t)rand_r(&seed) % TABLES;
    uint64_t begun = now();
    must(send(fd, &req, sizeof req, 0) == sizeof req, "send");
    add(&counters->more[REQUESTS], 1);
    must(recv(fd, &reply, sizeof reply, MSG_WAITALL) == sizeof reply, "recv");
    must(reply.sequence == req.sequence && reply.table_id == req.table_id, "the reply is another request's");
    uint64_t taken = now() - begun;
    add(&counters->more[REPLIES], 1);
    add(&counters->more[RESPONSE_NS], taken);
    if (taken > counters->more[LONGEST_NS])
      counters->more[LONGEST_NS] = taken; // about: two may do so at once
  }
  close(fd);
  return NULL;
}

// The process that makes the load: ends when the server says so.
static void make_load(void) {
  pthread_t ids[MAX_THREADS];
  signal(SIGTERM, SIG_IGN);
  for (int i = 0; i < threads; ++i) {
    close(connections[i][0]);
    ids[i] = start(client, i);
  }
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 200, 16);
  for (int i = 0; i < threads; ++i)
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, connections[i]) == 0, "socketpair");
  pid_t load = fork();
  must(load >= 0, "fork");
  if (load == 0) {
    make_load();
    return 0;
  }
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i) {
    close(connections[i][1]);
    ids[i] = start(worker, i);
  }
  while (running())
    usleep(10000);
  __atomic_store_n(&counters->more[STOP], 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  int status = 0;
  must(waitpid(load, &status, 0) == load && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the load");
  uint64_t requests = counters->more[REQUESTS], replies = counters->more[REPLIES];
  printf("%lu requests, %lu replies, %lu lost, %lu quiet, %lu empty\n", (unsigned long)requests, (unsigned long)replies,
         (unsigned long)(requests - replies), (unsigned long)counters->more[QUIET], (unsigned long)counters->more[EMPTY]);
  return finish();
}
