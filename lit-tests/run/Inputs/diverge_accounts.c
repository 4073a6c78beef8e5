// Two threads, each with an account of its own or, on another input, with the same one. Arguments: the accounts of
// the two. What were two locks may be one, and the other way round.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
  pthread_mutex_t lock;
  long balance;
} accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 0}, {PTHREAD_MUTEX_INITIALIZER, 0}};

static void *deposit(void *number) {
  int mine = atoi(number);
  for (int i = 1; i <= 10; ++i) {
    pthread_mutex_lock(&accounts[mine].lock); // DIVERGES accounts
    accounts[mine].balance += i;
    pthread_mutex_unlock(&accounts[mine].lock);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  pthread_t threads[2];
  if (argc < 3)
    return 2;
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, deposit, argv[i + 1]);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  printf("%ld %ld\n", accounts[0].balance, accounts[1].balance);
  return 0;
}
