// A teller pays into two accounts, which the arguments name. A third argument is `teller` for a second one, or
// `audit` for an audit at the end, which is in another file.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  pthread_mutex_t lock;
  long balance;
} accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 0}, {PTHREAD_MUTEX_INITIALIZER, 0}};
static int first, second;

void audit(pthread_mutex_t *);

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
  const char *more = argc > 3 ? argv[3] : "";
  int tellers = strcmp(more, "teller") == 0 ? 2 : 1;
  for (int i = 0; i < tellers; i++)
    pthread_create(&threads[i], 0, teller, 0);
  for (int i = 0; i < tellers; i++)
    pthread_join(threads[i], 0);
  if (strcmp(more, "audit") == 0)
    audit(&accounts[0].lock);
  printf("%ld %ld\n", accounts[0].balance, accounts[1].balance);
  return 0;
}
