// Two locks that have nothing to do with each other: under the happens-before order nothing is known of what is stored under
// one and read under the other; if runs follow the total order, it is. (A flag that no schedule knows of makes sure that
// the recorded order is that one.)
// RACY
// ORDERS: hb total
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static int input, cell = 1, seen;
static atomic_int flag;

static void *writer(void *unused) {
  if (input > 7)
    usleep(3000);
  pthread_mutex_lock(&one);
  cell = 7;
  pthread_mutex_unlock(&one);
  flag = 1;
  return unused;
}

static void *reader(void *unused) {
  while (input < 7 && !flag)
    sched_yield();
  pthread_mutex_lock(&two);
  seen = cell; // HB NOT CONST t2 load; TOTAL CONST t2 load 7
  pthread_mutex_unlock(&two);
  return unused;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  int got = cell; // CONST t0 load 7
  printf("%d %d %d\n", input, got, seen == 7 || seen == 1);
  return 0;
}
