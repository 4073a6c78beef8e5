// A teller works on two accounts, which the arguments name. With a third argument there is a second teller.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
  pthread_mutex_t lock;
  long balance;
} accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 0}, {PTHREAD_MUTEX_INITIALIZER, 0}};
static int first, second;

static void pay(int account) {
  pthread_mutex_lock(&accounts[account].lock);
  accounts[account].balance++;
  pthread_mutex_unlock(&accounts[account].lock);
}

static void *teller(void *unused) {
  pay(first);
  pay(second);
  return unused;
}

int main(int argc, char **argv) {
  pthread_t threads[2];
  if (argc < 3)
    return 2;
  first = atoi(argv[1]);
  second = atoi(argv[2]);
  for (int i = 0; i < argc - 2; i++)
    pthread_create(&threads[i], 0, teller, 0);
  for (int i = 0; i < argc - 2; i++)
    pthread_join(threads[i], 0);
  printf("%ld %ld\n", accounts[0].balance, accounts[1].balance);
  return 0;
}
