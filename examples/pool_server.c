// A thread pool server with its own load. Clients put requests on a bounded queue, up to BATCH each before they
// wait for their replies; THREADS workers answer them. Arguments: threads (32), requests (100000); with a third,
// the memory that the process has used goes to standard error, in kilobytes.
//
//   covsched cc -O2 -pthread pool_server.c -o pool_server
//   covsched record -o pool.sched -- ./pool_server 32 1000 && covsched show pool.sched
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 4, BATCH = 32, PLACES = 64, MAX_THREADS = 256 };

struct client;

struct request {
  struct client *from;
  long question, answer;
};

static struct client {
  pthread_mutex_t lock;
  pthread_cond_t all_answered;
  int unanswered;
  struct request batch[BATCH];
  long first, last; // the questions that it asks
  unsigned long sum;
} clients[CLIENTS];

static struct {
  pthread_mutex_t lock;
  pthread_cond_t not_full, not_empty;
  struct request *places[PLACES];
  int used, head, closed;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER};

static void put(struct request *request) {
  pthread_mutex_lock(&queue.lock);
  while (queue.used == PLACES)
    pthread_cond_wait(&queue.not_full, &queue.lock);
  queue.places[(queue.head + queue.used++) % PLACES] = request;
  pthread_cond_signal(&queue.not_empty);
  pthread_mutex_unlock(&queue.lock);
}

// NULL when the queue is closed and empty.
static struct request *take(void) {
  struct request *request = NULL;
  pthread_mutex_lock(&queue.lock);
  while (queue.used == 0 && !queue.closed)
    pthread_cond_wait(&queue.not_empty, &queue.lock);
  if (queue.used > 0) {
    request = queue.places[queue.head];
    queue.head = (queue.head + 1) % PLACES;
    queue.used--;
    pthread_cond_signal(&queue.not_full);
  }
  pthread_mutex_unlock(&queue.lock);
  return request;
}

static void close_queue(void) {
  pthread_mutex_lock(&queue.lock);
  queue.closed = 1;
  pthread_cond_broadcast(&queue.not_empty);
  pthread_mutex_unlock(&queue.lock);
}

static void *worker(void *arg) {
  for (struct request *request; (request = take());) {
    request->answer = request->question * request->question % 1009;
    struct client *client = request->from;
    pthread_mutex_lock(&client->lock);
    if (--client->unanswered == 0)
      pthread_cond_signal(&client->all_answered);
    pthread_mutex_unlock(&client->lock);
  }
  return arg;
}

static void *client(void *arg) {
  struct client *me = arg;
  for (long next = me->first; next < me->last;) {
    int asked = me->last - next < BATCH ? (int)(me->last - next) : BATCH;
    pthread_mutex_lock(&me->lock);
    me->unanswered = asked;
    pthread_mutex_unlock(&me->lock);
    for (int i = 0; i < asked; ++i) {
      me->batch[i] = (struct request){me, next++, 0};
      put(&me->batch[i]);
    }
    pthread_mutex_lock(&me->lock);
    while (me->unanswered > 0)
      pthread_cond_wait(&me->all_answered, &me->lock);
    pthread_mutex_unlock(&me->lock);
    for (int i = 0; i < asked; ++i)
      me->sum += (unsigned long)me->batch[i].answer;
  }
  return NULL;
}

// What Linux counts: the peak of everything, and what is the process's own (no files) now.
static void print_memory(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, "VmHWM:", 6) == 0 || strncmp(line, "RssAnon:", 8) == 0)
      fputs(line, stderr);
  if (status)
    fclose(status);
}

int main(int argc, char *argv[]) {
  static pthread_t workers[MAX_THREADS], ids[CLIENTS];
  int threads = argc > 1 ? atoi(argv[1]) : 32;
  long requests = argc > 2 ? atol(argv[2]) : 100000;
  unsigned long sum = 0;
  if (threads < 1 || threads > MAX_THREADS || requests < 0)
    return 2;
  for (int i = 0; i < threads; ++i)
    pthread_create(&workers[i], NULL, worker, NULL);
  for (int i = 0; i < CLIENTS; ++i) {
    pthread_mutex_init(&clients[i].lock, NULL);
    pthread_cond_init(&clients[i].all_answered, NULL);
    clients[i].first = requests * i / CLIENTS;
    clients[i].last = requests * (i + 1) / CLIENTS;
    pthread_create(&ids[i], NULL, client, &clients[i]);
  }
  for (int i = 0; i < CLIENTS; ++i) {
    pthread_join(ids[i], NULL);
    sum += clients[i].sum;
  }
  // While the workers still are there.
  if (argc > 3)
    print_memory();
  close_queue();
  for (int i = 0; i < threads; ++i)
    pthread_join(workers[i], NULL);
  printf("%ld requests, sum %lu\n", requests, sum);
  return 0;
}
