// Values that go through semaphores and read-write locks: readers do not disturb each other, a writer does.
// RECORDED: 5
// COVERED: 9
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t begun, read_by_all, written;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int input, cell = 1, mark, results[2];

static void *reader(void *arg) {
  long id = (long)arg;
  sem_wait(&begun);
  pthread_rwlock_rdlock(&lock);
  int first = cell; // CONST t1 load 2; CONST t2 load 2
  pthread_rwlock_unlock(&lock);
  sem_post(&read_by_all);
  sem_wait(&written);
  pthread_rwlock_rdlock(&lock);
  int second = cell; // NOT CONST t1 load; NOT CONST t2 load
  int marked = mark; // CONST t1 load 4; CONST t2 load 4
  pthread_rwlock_unlock(&lock);
  results[id] = first * 100 + second + marked;
  return NULL;
}

int main(int count, char **arguments) {
  input = count > 1 ? atoi(arguments[1]) : 5;
  pthread_t threads[2];
  sem_init(&begun, 0, 0);
  sem_init(&read_by_all, 0, 0);
  sem_init(&written, 0, 0);
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, reader, (void *)i);
  cell = 2;
  sem_post(&begun);
  sem_post(&begun);
  sem_wait(&read_by_all);
  sem_wait(&read_by_all);
  pthread_rwlock_wrlock(&lock);
  cell = input;
  mark = 4;
  pthread_rwlock_unlock(&lock);
  sem_post(&written);
  sem_post(&written);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("%d %d\n", results[0], results[1]);
  return 0;
}
