// Wu, Figure 4.5a: a loop with a synchronization on one of two paths. How often the other path is taken is data.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t before = PTHREAD_MUTEX_INITIALIZER, inside = PTHREAD_MUTEX_INITIALIZER,
                       after = PTHREAD_MUTEX_INITIALIZER;
static int rounds, which;

static void *worker(void *unused) {
  long plain = 0, synchronized = 0;
  pthread_mutex_lock(&before);
  pthread_mutex_unlock(&before);
  for (int i = 0; i < rounds; i++) {
    if (i % 10 == which) {
      pthread_mutex_lock(&inside);
      synchronized++;
      pthread_mutex_unlock(&inside);
    } else {
      plain += i;
    }
  }
  pthread_mutex_lock(&after);
  printf("plain %ld, synchronized %ld\n", plain, synchronized);
  pthread_mutex_unlock(&after);
  return unused;
}

int main(int count, char **arguments) {
  rounds = count > 1 ? atoi(arguments[1]) : 5;
  which = count > 2 ? atoi(arguments[2]) : 3;
  pthread_t thread;
  pthread_create(&thread, 0, worker, 0);
  pthread_join(thread, 0);
  return 0;
}
