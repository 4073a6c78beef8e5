// Four locks in each of two threads, the number is fixed in the program: a schedule with fewer of them cannot happen.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *worker(void *unused) {
  for (int i = 0; i < 4; i++) {
    pthread_mutex_lock(&lock);
    total += i;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("%d\n", total);
  return 0;
}
