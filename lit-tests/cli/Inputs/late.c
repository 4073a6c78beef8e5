// Synchronizes so often that its schedule takes a while to write. Given a signal's name, it leaves somebody behind who
// sends that signal to the parent when this program has ended.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char **argv) {
  for (int i = 0; i < 1000000; i++) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
  if (argc > 1) {
    char line[200];
    snprintf(line, sizeof line, "(while kill -0 %d; do sleep 0.01; done; kill -%s %d) > /dev/null 2>&1 &", getpid(),
             argv[1], getppid());
    if (system(line) != 0)
      return 1;
  }
  return 7;
}
