// An account with a lock.
#include <pthread.h>

struct account {
  pthread_mutex_t lock;
  int balance;
};

void add(struct account *account, int amount);
int balance(struct account *account);
