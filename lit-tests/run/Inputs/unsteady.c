// Whose runs differ in spite of a schedule, by its process id: in what it prints, or in how often it locks.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char *argv[]) {
  int id = (int)getpid() % 97, prints = argc > 1 && strcmp(argv[1], "prints") == 0;
  for (int i = 0; i < (prints ? 1 : id + 1); ++i) {
    pthread_mutex_lock(&lock); // DIVERGES locks
    pthread_mutex_unlock(&lock);
  }
  printf("%d\n", prints ? id : 0);
  return 0;
}
