// Objects shared with another process: a parent and its forked child take turns. The partner's posts are not
// in the schedule; the objects are marked as shared, so that nobody looks for them.
//
//   covsched cc -O2 -pthread process_shared.c -o process_shared
//   covsched record -o shared.sched -- ./process_shared && covsched show shared.sched
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 3 };

struct shared {
  sem_t parents_turn, childs_turn;
  pthread_mutex_t lock;
  int count;
};

static void take_turns(struct shared *s, sem_t *mine, sem_t *theirs) {
  for (int i = 0; i < ROUNDS; ++i) {
    sem_wait(mine);               // SCHED: sem_wait x3
    pthread_mutex_lock(&s->lock); // SCHED: pthread_mutex_lock x3
    s->count++;
    pthread_mutex_unlock(&s->lock); // SCHED: pthread_mutex_unlock x3
    sem_post(theirs);               // SCHED: sem_post x3
  }
}

int main(void) {
  struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (s == MAP_FAILED)
    return 2;
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&s->lock, &attr); // SCHED: pthread_mutex_init x1
  sem_init(&s->parents_turn, 1, 1);    // SCHED: sem_init x1
  sem_init(&s->childs_turn, 1, 0);     // SCHED: sem_init x1
  pid_t child = fork();
  if (child == 0) {
    take_turns(s, &s->childs_turn, &s->parents_turn);
    _exit(0);
  }
  take_turns(s, &s->parents_turn, &s->childs_turn);
  waitpid(child, NULL, 0);
  printf("count %d\n", s->count);
  return 0;
}
