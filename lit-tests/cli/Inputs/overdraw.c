// One thread pays in, the other takes out, each under the lock; nobody sees to it that there is something to take.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 20;

static void pay(int amount) {
  pthread_mutex_lock(&lock);
  balance += amount;
  if (balance < 0)
    abort();
  pthread_mutex_unlock(&lock);
}

static void *teller(void *amount) {
  for (int i = 0; i < 100; ++i)
    pay(*(int *)amount);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  int amounts[2] = {1, -1};
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, teller, &amounts[i]);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  printf("balance %d\n", balance);
  return 0;
}
