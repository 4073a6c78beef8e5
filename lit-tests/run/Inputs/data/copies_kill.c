// memcpy, memmove, memset, read and struct assignment write memory: what was stored there before is gone. What is beside it
// stays.
// RECORDED: 5
// COVERED: 9
// COVERED: 300
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
  int head, body[2], tail;
};

static int input, cells[6];
static struct record record, given;

static void *worker(void *unused) {
  for (int i = 0; i < 6; i++)
    cells[i] = 1;
  cells[0] = 1;
  cells[5] = 6;
  memcpy(&cells[0], &input, sizeof input);
  int copied = cells[0]; // NOT CONST t1 load
  cells[1] = 1;
  memmove(&cells[1], &cells[0], 2 * sizeof(int));
  int moved = cells[1]; // NOT CONST t1 load
  cells[3] = 1;
  memset(&cells[3], input & 3, sizeof(int));
  int set = cells[3]; // NOT CONST t1 load
  int ends[2];
  cells[4] = 1;
  if (pipe(ends) != 0 || write(ends[1], &input, sizeof input) != sizeof input)
    abort();
  if (read(ends[0], &cells[4], sizeof(int)) != sizeof(int))
    abort();
  int got = cells[4]; // NOT CONST t1 load
  int kept = cells[5];
  record.tail = 1;
  given.tail = input;
  record = given;
  int tail = record.tail; // NOT CONST t1 load
  record.head = 8;
  memcpy(record.body, given.body, sizeof record.body);
  int head = record.head; // CONST t1 load 8
  close(ends[0]);
  close(ends[1]);
  printf("%d %d %d %d %d %d %d\n", copied, moved, set, got, kept, tail, head);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
