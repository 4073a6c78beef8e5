// A pipeline: each stage is a thread that takes an item from the mailbox before it, works on it and puts it into the next. A
// mailbox holds one item, and semaphores say whether it is full or empty.
//
//   covsched cc -O2 -pthread pipeline.c -o pipeline
//   covsched record -o pipeline.sched -- ./pipeline 3 4 9
//   covsched specialize pipeline --schedule pipeline.sched --facts pipeline.json
//
// A schedule with three stages and four items covers every content (the third argument). Under it the stages' numbers, the
// functions that they apply and the numbers of the items that go through the mailboxes are constants; the values are not.
// RECORDED: 3 4 9
// COVERED: 3 4 50
// LEAVES: 3 5 9
// LEAVES: 2 4 9
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_STAGES = 8, MOST_ITEMS = 32 };

struct item {
  int number;
  unsigned value;
};

struct mailbox {
  sem_t is_full, is_empty;
  struct item item;
};

// The mailbox in front of each stage, and the one behind the last.
static struct mailbox mailboxes[MOST_STAGES + 1];
static int stages, items;
static unsigned handled[MOST_STAGES], outputs[MOST_ITEMS];

static unsigned scale(unsigned value) { return value * 3 + 1; }
static unsigned fold(unsigned value) { return value ^ (value >> 4); }
static unsigned reduce(unsigned value) { return value % 10007; }

typedef unsigned (*work)(unsigned);
static const work works[3] = {scale, fold, reduce};

static void send(struct mailbox *box, int number, unsigned value) {
  sem_wait(&box->is_empty);
  box->item.number = number;
  box->item.value = value;
  sem_post(&box->is_full);
}

static struct item receive(struct mailbox *box) {
  sem_wait(&box->is_full);
  struct item item;
  // CONST t1 load 0; CONST t1 load 1; CONST t1 load 2; CONST t1 load 3; CONST t3 load 0; CONST t3 load 3; CONST t0 load 3
  item.number = box->item.number;
  item.value = box->item.value; // NOT CONST t1 load; NOT CONST t2 load; NOT CONST t0 load
  sem_post(&box->is_empty);
  return item;
}

static void *stage(void *arg) {
  long number = (long)arg; // CONST t1 any 0; CONST t2 any 1; CONST t3 any 2
  for (int i = 0; i < items; i++) {
    struct item item = receive(&mailboxes[number]);
    unsigned result = works[number % 3](item.value);
    handled[number]++; // CONST t1 load 0; CONST t1 load 3; CONST t3 load 2; DISJOINT self
    send(&mailboxes[number + 1], item.number, result);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  stages = argc > 1 ? atoi(argv[1]) : 3; // CONST t0 call 3
  items = argc > 2 ? atoi(argv[2]) : 4;  // CONST t0 call 4
  unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : 9;
  if (stages < 1 || stages > MOST_STAGES || items < 1 || items > MOST_ITEMS)
    return 2;
  pthread_t children[MOST_STAGES];
  for (int i = 0; i <= stages; i++) {
    sem_init(&mailboxes[i].is_full, 0, 0);
    sem_init(&mailboxes[i].is_empty, 0, 1);
  }
  for (long i = 0; i < stages; i++)
    pthread_create(&children[i], NULL, stage, (void *)i);
  // One item more is on its way than was taken at the end, so that all stages have work.
  for (int i = 0; i < items; i++) {
    send(&mailboxes[0], i, seed + (unsigned)i * 1000);
    if (i > 0) {
      struct item item = receive(&mailboxes[stages]);
      outputs[item.number] = item.value;
    }
  }
  struct item last = receive(&mailboxes[stages]);
  outputs[last.number] = last.value;
  for (int i = 0; i < stages; i++)
    pthread_join(children[i], NULL);
  unsigned sum = 0, times = 0;
  for (int i = 0; i < items; i++) // TRIPS t0 4
    sum = sum * 31 + outputs[i];
  for (int i = 0; i < stages; i++) // TRIPS t0 3
    times += handled[i]; // CONST t0 load 4
  printf("pipeline: %u steps, %u\n", times, sum);
  return 0;
}
