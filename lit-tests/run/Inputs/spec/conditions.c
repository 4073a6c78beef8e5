// Condition-variable loops: how often a consumer waits is up to the schedule.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, taken, items, weight;
static long sum;

static void *consume(void *unused) {
  for (;;) {
    pthread_mutex_lock(&lock);
    while (ready == taken && taken < items)
      pthread_cond_wait(&changed, &lock);
    if (taken == items) {
      pthread_mutex_unlock(&lock);
      return unused;
    }
    int item = ++taken;
    sum += (long)item * weight;
    if (taken == items)
      pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
  }
}

int main(int count, char **arguments) {
  items = count > 1 ? atoi(arguments[1]) : 3;
  weight = count > 2 ? atoi(arguments[2]) : 2;
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, consume, 0);
  for (int i = 0; i < items; i++) {
    pthread_mutex_lock(&lock);
    ready++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
  }
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  printf("sum %ld\n", sum);
  return 0;
}
