// Two threads that have nothing to wait for from each other: locks of two mutexes, readers of one rwlock, tokens of one
// semaphore. In the recorded run (`quick`) the first thread comes first; on the other input (`slow`) it takes its
// time. Prints whether the second had to wait for it. Arguments: which kind, `quick` or `slow`.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both_are_there;
static sem_t tokens;
static atomic_int first_is_done;
static const char *kind, *speed;
static int second_waited;

static int is(const char *word, const char *other) { return strcmp(word, other) == 0; }

static void use(int me) {
  if (is(kind, "mutexes")) {
    pthread_mutex_lock(&mutexes[me]);
    pthread_mutex_unlock(&mutexes[me]);
  } else if (is(kind, "readers")) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  } else {
    sem_wait(&tokens);
    sem_wait(&tokens);
  }
}

static void *first(void *arg) {
  pthread_barrier_wait(&both_are_there);
  if (is(speed, "slow"))
    usleep(400000);
  use(0);
  first_is_done = 1;
  return arg;
}

static void *second(void *arg) {
  pthread_barrier_wait(&both_are_there);
  while (is(speed, "quick") && !first_is_done)
    ;
  use(1);
  second_waited = first_is_done;
  return arg;
}

int main(int argc, char *argv[]) {
  pthread_t threads[2];
  if (argc < 3)
    return 2;
  kind = argv[1];
  speed = argv[2];
  pthread_barrier_init(&both_are_there, NULL, 2);
  sem_init(&tokens, 0, 4);
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  puts(second_waited ? "waited" : "did not wait");
  return 0;
}
