// A value is handed over through a condition variable, and an answer comes back; whether anybody waited is the schedule's.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int state, value, extra, answer;

static void *consumer(void *unused) {
  pthread_mutex_lock(&lock);
  while (state == 0)
    pthread_cond_wait(&changed, &lock);
  int got = value;   // CONST t1 load 42
  int added = extra; // NOT CONST t1 load
  answer = got / 2 + added;
  value = 43;
  state = 2;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(int count, char **arguments) {
  int input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t thread;
  pthread_create(&thread, NULL, consumer, NULL);
  pthread_mutex_lock(&lock);
  value = 42;
  extra = input;
  state = 1;
  pthread_cond_broadcast(&changed);
  while (state != 2)
    pthread_cond_wait(&changed, &lock);
  int last = value;   // CONST t0 load 43
  int back = answer;  // NOT CONST t0 load
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  int end = state; // CONST t0 load 2
  printf("%d %d %d\n", last, back, end);
  return 0;
}
