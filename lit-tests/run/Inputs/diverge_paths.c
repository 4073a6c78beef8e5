// Ways to leave the path that was recorded, by the argument: none leaves it.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 2, ROUNDS = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *way;
static int sum;

static int is(const char *word) { return strcmp(way, word) == 0; }

static void add(int worker, int round) {
  if (is("another-call") && worker == 1 && round == 2)
    pthread_mutex_lock(&lock); // DIVERGES another-call
  else
    pthread_mutex_lock(&lock); // DIVERGES another-call worker-returns worker-exits
  sum += worker + round;
  pthread_mutex_unlock(&lock);
}

static void *worker(void *arg) { // DIVERGES another-function
  int me = (int)(long)arg;
  for (int i = 0; i < ROUNDS; ++i) {
    if (is("worker-returns") && me == 1 && i == 3)
      break;
    if (is("worker-exits") && me == 1 && i == 3)
      pthread_exit(NULL); // DIVERGES worker-exits
    if (is("crash") && me == 1 && i == 3)
      *(volatile int *)8 = 1;
    add(me, i);
  }
  return NULL; // DIVERGES worker-returns
}

static void *another_worker(void *arg) { // DIVERGES another-function
  add((int)(long)arg, 100);
  return NULL;
}

int main(int argc, char *argv[]) {
  pthread_t threads[WORKERS];
  way = argc > 1 ? argv[1] : "none";
  for (long i = 0; i < WORKERS; ++i) {
    void *(*function)(void *) = is("another-function") && i == 1 ? another_worker : worker;
    pthread_create(&threads[i], NULL, function, (void *)i);
  }
  if (is("exit")) {
    puts("exit 3");
    exit(3); // DIVERGES exit
  }
  if (!is("main-returns")) {
    for (int i = 0; i < WORKERS; ++i)
      pthread_join(threads[i], NULL); // DIVERGES exit main-returns
    if (is("kill"))
      kill(getpid(), SIGKILL);
    pthread_mutex_lock(&lock); // DIVERGES after-kill
    printf("sum %d\n", sum);
    pthread_mutex_unlock(&lock);
  }
  return is("main-returns") ? 4 : 0; // DIVERGES main-returns
}
