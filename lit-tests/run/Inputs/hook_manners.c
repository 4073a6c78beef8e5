// What a hook must not do: change errno, need much stack, write to the program's files, depend on the
// working folder. Threads have the smallest stack there is; all file descriptors but the standard ones are
// closed before the work begins, and the program's own file takes the first free one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t sem;
static int count, errno_changed;

static void *worker(void *arg) {
  errno = 77;
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x200
  count++;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x200
  sem_post(&sem);              // SCHED: sem_post x200
  sem_wait(&sem);              // SCHED: sem_wait x200
  if (errno != 77)
    errno_changed = 1;
  return arg;
}

int main(int argc, char *argv[]) {
  pthread_t thread;
  pthread_attr_t attr;
  char contents[64] = "", *path = argc > 1 ? argv[1] : "/tmp/hook_manners";
  closefrom(3);
  (void)!chdir("/");
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  (void)!write(fd, "mine", 4);
  // New site tables arrive while the program holds the descriptor.
  if (argc > 2 && !dlopen(argv[2], RTLD_NOW))
    fprintf(stderr, "%s\n", dlerror());
  sem_init(&sem, 0, 0); // SCHED: sem_init x1
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
  for (int i = 0; i < THREADS; ++i) {
    pthread_create(&thread, &attr, worker, NULL); // SCHED: pthread_create x200
    pthread_join(thread, NULL);                   // SCHED: pthread_join x200
  }
  lseek(fd, 0, SEEK_SET);
  (void)!read(fd, contents, sizeof contents - 1);
  printf("fd %d, contents %s, count %d, errno changed %d\n", fd, contents, count, errno_changed);
  return 0;
}
