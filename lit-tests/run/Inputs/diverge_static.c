// The same with mutexes that no call initializes: in static memory, or with `heap` as a third argument on the heap,
// where nothing tells when one object ends and another begins at the same place.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct account {
  pthread_mutex_t lock;
  long balance;
};

static struct account fixed[2] = {{PTHREAD_MUTEX_INITIALIZER, 0}, {PTHREAD_MUTEX_INITIALIZER, 0}}, *accounts = fixed;

static void *deposit(void *number) {
  struct account *mine = &accounts[atoi(number)];
  for (int i = 1; i <= 10; ++i) {
    pthread_mutex_lock(&mine->lock); // DIVERGES static
    mine->balance += i;
    pthread_mutex_unlock(&mine->lock); // DIVERGES static
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  pthread_t threads[2];
  if (argc < 3)
    return 2;
  if (argc > 3) {
    accounts = malloc(sizeof fixed);
    accounts[0] = accounts[1] = (struct account){PTHREAD_MUTEX_INITIALIZER, 0};
  }
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, deposit, argv[i + 1]);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  printf("%ld %ld\n", accounts[0].balance, accounts[1].balance);
  return 0;
}
