// A bounded queue between one producer and some workers, the shape of pfscan: the producer lists texts, the workers
// search them for a word and note each line that has it under a lock. The waits on condition variables, creating and
// joining need no markers; the producer's loop, the workers' and the search for lines do (Bergan, Table 3.3: 3 instead
// of 7).
//
//   covsched cc -O2 -pthread task_queue.c -o task_queue && covsched epochs ./task_queue
//   ./task_queue [workers [texts [word]]]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORKERS = 64, PLACES = 4, MOST_TEXTS = 100000 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t not_full, not_empty;
  int items[PLACES], used, head, closed;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0, 0};

static struct {
  pthread_mutex_t lock;
  long lines, sum_of_numbers, unreadable;
} found = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0};

static const char *word = "lock";

static void enqueue(int item) {
  pthread_mutex_lock(&queue.lock);
  while (queue.used == PLACES)
    pthread_cond_wait(&queue.not_full, &queue.lock);
  queue.items[(queue.head + queue.used++) % PLACES] = item;
  pthread_cond_signal(&queue.not_empty);
  pthread_mutex_unlock(&queue.lock);
}

static void close_queue(void) {
  pthread_mutex_lock(&queue.lock);
  queue.closed = 1;
  pthread_cond_broadcast(&queue.not_empty);
  pthread_mutex_unlock(&queue.lock);
}

/// False when the queue is closed and empty.
static int dequeue(int *item) {
  pthread_mutex_lock(&queue.lock);
  while (queue.used == 0 && !queue.closed)
    pthread_cond_wait(&queue.not_empty, &queue.lock);
  int got = queue.used > 0;
  if (got) {
    *item = queue.items[queue.head];
    queue.head = (queue.head + 1) % PLACES;
    queue.used--;
    pthread_cond_signal(&queue.not_full);
  }
  pthread_mutex_unlock(&queue.lock);
  return got;
}

/// Stands for a file: its text, or null if it cannot be read.
static char *read_text(int number) {
  static const char *words[] = {"lock", "barrier", "queue", "thread", "epoch", "marker", "join", "unlock"};
  if (number % 13 == 7)
    return NULL;
  char *text = malloc(4096);
  if (!text)
    return NULL;
  size_t used = 0;
  unsigned seed = number;
  for (int line = 0; line < 5 + number % 7; ++line) {
    for (int i = 0; i < 6; ++i) {
      seed = seed * 1103515245u + 12345u;
      used += snprintf(text + used, 4096 - used, "%s ", words[seed / 65536 % 8]);
    }
    text[used - 1] = '\n';
  }
  return text;
}

static void note_unreadable(void) {
  pthread_mutex_lock(&found.lock);
  found.unreadable++;
  pthread_mutex_unlock(&found.lock);
}

static void note_line(int number) {
  pthread_mutex_lock(&found.lock);
  found.lines++;
  found.sum_of_numbers += number;
  pthread_mutex_unlock(&found.lock);
}

static void scan(int number) {
  char *text = read_text(number);
  if (!text) {
    note_unreadable();
    return;
  }
  int line = 1;
  for (char *at = text; *at; ++line) {
    char *end = strchr(at, '\n');
    *end = '\0';
    if (strstr(at, word))
      note_line(line);
    at = end + 1;
  }
  free(text);
}

static void *worker(void *arg) {
  int number;
  while (dequeue(&number))
    scan(number);
  return arg;
}

int main(int argc, char **argv) {
  int workers = argc > 1 ? atoi(argv[1]) : 3;
  int texts = argc > 2 ? atoi(argv[2]) : 60;
  if (argc > 3)
    word = argv[3];
  if (workers < 1 || workers > MOST_WORKERS || texts < 0 || texts > MOST_TEXTS) {
    fprintf(stderr, "usage: task_queue [workers (1 to %d) [texts [word]]]\n", MOST_WORKERS);
    return 2;
  }
  pthread_t ids[MOST_WORKERS];
  for (int i = 0; i < workers; ++i)
    if (pthread_create(&ids[i], NULL, worker, NULL) != 0) {
      perror("pthread_create");
      exit(1);
    }
  for (int number = 0; number < texts; ++number)
    enqueue(number);
  close_queue();
  for (int i = 0; i < workers; ++i)
    pthread_join(ids[i], NULL);
  printf("%d texts, %ld unreadable, %ld lines with %s, line numbers add to %ld\n", texts, found.unreadable,
         found.lines, word, found.sum_of_numbers);
  return 0;
}
