// A program with a shared object (unloads_part.c) that is loaded and unloaded while threads run. The last argument is its path.
// counters->more[0] is what the tester wants: 1 for loaded, 0 for not; more[1] is what is.
//
// Failures: two threads in the object's region, or in the program's own, at once.
#include "race.h"
#include <dlfcn.h>

enum { WANTED, LOADED };

static pthread_rwlock_t use = PTHREAD_RWLOCK_INITIALIZER;
static void (*part)(struct counters *counters);
static int inside;

__attribute__((noinline)) static void region(void) {
  if (__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) > 1) // [enter]
    failure();
  usleep(100);
  __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED); // [leave]
}

static void *work(void *argument) {
  while (running()) {
    pthread_rwlock_rdlock(&use);
    if (part)
      part(counters);
    pthread_rwlock_unlock(&use);
    region();
    operation();
  }
  return argument;
}

static void load(void **handle, const char *path) {
  *handle = dlopen(path, RTLD_NOW);
  if (!*handle) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  void *found = dlsym(*handle, "part");
  must(found != NULL, "dlsym");
  pthread_rwlock_wrlock(&use);
  memcpy(&part, &found, sizeof part);
  pthread_rwlock_unlock(&use);
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 4);
  const char *path = argv[argc - 1];
  void *handle = NULL;
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(work, i);
  while (running()) {
    uint64_t wanted = __atomic_load_n(&counters->more[WANTED], __ATOMIC_ACQUIRE);
    if (wanted && !handle) {
      load(&handle, path);
    } else if (!wanted && handle) {
      pthread_rwlock_wrlock(&use);
      part = NULL;
      pthread_rwlock_unlock(&use);
      must(dlclose(handle) == 0, "dlclose");
      handle = NULL;
    }
    __atomic_store_n(&counters->more[LOADED], handle != NULL, __ATOMIC_RELEASE);
    usleep(1000);
  }
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
