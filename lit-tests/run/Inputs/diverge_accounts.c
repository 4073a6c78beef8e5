// Two threads, each with an account of its own or, on another input, with the same one. Arguments: the accounts of
// the two, and what kind of lock they have. What were two locks may be one, and the other way round.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  pthread_mutex_t mutex;
  pthread_rwlock_t rwlock;
  pthread_spinlock_t spin;
  sem_t sem;
  long balance;
} accounts[2];

static const char *kind = "mutex";

static int is(const char *word) { return strcmp(kind, word) == 0; }

static void *deposit(void *number) {
  int mine = atoi(number);
  for (int i = 1; i <= 10; ++i) {
    if (is("mutex"))
      pthread_mutex_lock(&accounts[mine].mutex); // DIVERGES mutex
    else if (is("rwlock"))
      pthread_rwlock_wrlock(&accounts[mine].rwlock); // DIVERGES rwlock
    else if (is("spin"))
      pthread_spin_lock(&accounts[mine].spin); // DIVERGES spin
    else
      sem_wait(&accounts[mine].sem); // DIVERGES semaphore
    accounts[mine].balance += i;
    if (is("mutex"))
      pthread_mutex_unlock(&accounts[mine].mutex);
    else if (is("rwlock"))
      pthread_rwlock_unlock(&accounts[mine].rwlock);
    else if (is("spin"))
      pthread_spin_unlock(&accounts[mine].spin);
    else
      sem_post(&accounts[mine].sem);
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  pthread_t threads[2];
  if (argc < 3)
    return 2;
  if (argc > 3)
    kind = argv[3];
  for (int i = 0; i < 2; ++i) {
    pthread_mutex_init(&accounts[i].mutex, NULL);
    pthread_rwlock_init(&accounts[i].rwlock, NULL);
    pthread_spin_init(&accounts[i].spin, PTHREAD_PROCESS_PRIVATE);
    sem_init(&accounts[i].sem, 0, 1);
  }
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, deposit, argv[i + 1]);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  printf("%ld %ld\n", accounts[0].balance, accounts[1].balance);
  return 0;
}
