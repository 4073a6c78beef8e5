// The functions that link-time optimization inlines into main.c.
#include "account.h"

void add(struct account *account, int amount) {
  pthread_mutex_lock(&account->lock); // SCHED: pthread_mutex_lock x8
  account->balance += amount;
  pthread_mutex_unlock(&account->lock); // SCHED: pthread_mutex_unlock x8
}

int balance(struct account *account) {
  pthread_mutex_lock(&account->lock); // SCHED: pthread_mutex_lock x1
  int amount = account->balance;
  pthread_mutex_unlock(&account->lock); // SCHED: pthread_mutex_unlock x1
  return amount;
}
