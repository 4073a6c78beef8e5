// A thread that takes long to end after its last synchronization: a destructor of thread-specific data sleeps, as often as there are
// such destructors called.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_key_t key;

static void destroy(void *milliseconds) {
  pthread_setspecific(key, milliseconds);
  usleep(1000 * (long)milliseconds);
}

static void *work(void *milliseconds) {
  pthread_setspecific(key, milliseconds);
  return NULL;
}

int main(int argc, char *argv[]) {
  long milliseconds = argc > 1 ? 600 : 1;
  pthread_t thread;
  pthread_key_create(&key, destroy);
  pthread_create(&thread, NULL, work, (void *)milliseconds);
  pthread_join(thread, NULL);
  puts("joined");
}
