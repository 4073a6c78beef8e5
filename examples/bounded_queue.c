// A bounded queue with two condition variables: two producers, two consumers, three places. Shows condition
// waits (begin, end, which signal woke whom) and a gate that opens with one broadcast.
//
//   covsched cc -O2 -pthread bounded_queue.c -o bounded_queue
//   covsched record -o queue.sched -- ./bounded_queue && covsched show queue.sched
#include <pthread.h>
#include <stdio.h>

enum { PLACES = 3, WORKERS = 2, ITEMS = 8 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t not_full, not_empty;
  int items[PLACES], used, head;
} queue;

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_opened = PTHREAD_COND_INITIALIZER, all_there = PTHREAD_COND_INITIALIZER;
static int waiting, open_gate;

static void put(int item) {
  pthread_mutex_lock(&queue.lock); // SCHED: pthread_mutex_lock x16
  while (queue.used == PLACES)
    pthread_cond_wait(&queue.not_full, &queue.lock); // SCHED: pthread_cond_wait x0+
  queue.items[(queue.head + queue.used++) % PLACES] = item;
  pthread_cond_signal(&queue.not_empty); // SCHED: pthread_cond_signal x16
  pthread_mutex_unlock(&queue.lock);     // SCHED: pthread_mutex_unlock x16
}

static int take(void) {
  pthread_mutex_lock(&queue.lock); // SCHED: pthread_mutex_lock x16
  while (queue.used == 0)
    pthread_cond_wait(&queue.not_empty, &queue.lock); // SCHED: pthread_cond_wait x0+
  int item = queue.items[queue.head];
  queue.head = (queue.head + 1) % PLACES;
  queue.used--;
  pthread_cond_signal(&queue.not_full); // SCHED: pthread_cond_signal x16
  pthread_mutex_unlock(&queue.lock);    // SCHED: pthread_mutex_unlock x16
  return item;
}

static void pass_gate(void) {
  pthread_mutex_lock(&gate_lock); // SCHED: pthread_mutex_lock x4
  if (++waiting == 2 * WORKERS)
    pthread_cond_signal(&all_there); // SCHED: pthread_cond_signal x1
  while (!open_gate)
    pthread_cond_wait(&gate_opened, &gate_lock); // SCHED: pthread_cond_wait x4+
  pthread_mutex_unlock(&gate_lock);              // SCHED: pthread_mutex_unlock x4
}

static void *producer(void *arg) {
  pass_gate();
  for (int i = 1; i <= ITEMS; ++i)
    put(i);
  return arg;
}

static void *consumer(void *sum) {
  pass_gate();
  for (int i = 0; i < ITEMS; ++i)
    *(int *)sum += take();
  return NULL;
}

int main(void) {
  pthread_t threads[2 * WORKERS];
  int sums[WORKERS] = {0};
  pthread_mutex_init(&queue.lock, NULL);     // SCHED: pthread_mutex_init x1
  pthread_cond_init(&queue.not_full, NULL);  // SCHED: pthread_cond_init x1
  pthread_cond_init(&queue.not_empty, NULL); // SCHED: pthread_cond_init x1
  pthread_mutex_lock(&gate_lock);            // SCHED: pthread_mutex_lock x1
  for (int i = 0; i < WORKERS; ++i) {
    pthread_create(&threads[i], NULL, producer, NULL);               // SCHED: pthread_create x2
    pthread_create(&threads[WORKERS + i], NULL, consumer, &sums[i]); // SCHED: pthread_create x2
  }
  while (waiting < 2 * WORKERS)
    pthread_cond_wait(&all_there, &gate_lock); // SCHED: pthread_cond_wait x1+
  open_gate = 1;
  pthread_cond_broadcast(&gate_opened); // SCHED: pthread_cond_broadcast x1
  pthread_mutex_unlock(&gate_lock);     // SCHED: pthread_mutex_unlock x1
  for (int i = 0; i < 2 * WORKERS; ++i)
    pthread_join(threads[i], NULL); // SCHED: pthread_join x4
  pthread_cond_destroy(&queue.not_full);  // SCHED: pthread_cond_destroy x1
  pthread_cond_destroy(&queue.not_empty); // SCHED: pthread_cond_destroy x1
  pthread_mutex_destroy(&queue.lock);     // SCHED: pthread_mutex_destroy x1
  printf("sum %d\n", sums[0] + sums[1]);
  return sums[0] + sums[1] == WORKERS * ITEMS * (ITEMS + 1) / 2 ? 0 : 1;
}
