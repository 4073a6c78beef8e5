// An executable with a site table, and, compiled with -DLIBRARY, a shared object with one that it loads.
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "hooks.h"
#ifdef LIBRARY
#include "library_table.h"
#else
#include "executable_table.h"
#endif

// What the pass emits in each linked object.
extern const uint8_t __start_covsched_sites[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_covsched_sites[] __attribute__((weak, visibility("hidden")));
__attribute__((visibility("hidden"))) uint8_t covsched_active;
static struct {
    uint32_t version, size;
    const uint8_t *sites, *sites_end;
    uint8_t *active;
} registration = {1, 32, __start_covsched_sites, __stop_covsched_sites, &covsched_active};
__attribute__((constructor(101))) static void announce(void) { covsched_register(&registration); }

#ifdef LIBRARY
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int lock_in_library(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return covsched_active;
}
#else
int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    int (*run)(void) = (int (*)(void))dlsym(library, "lock_in_library");
    assert(run() == covsched_active);
    pid_t child = fork();
    if (child == 0) _exit(run() == covsched_active ? 0 : 1);
    int status;
    assert(waitpid(child, &status, 0) == child && status == 0);
    // A child made after the library is gone does without it.
    dlclose(library);
    child = fork();
    if (child == 0) _exit(0);
    assert(waitpid(child, &status, 0) == child && status == 0);
    printf("active %d\n", covsched_active);
    return 0;
}
#endif
