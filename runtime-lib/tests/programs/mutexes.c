// Mutexes of each kind, tries and timeouts; errno stays what it was.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include "hooks.h"

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, checking;
static int shared, recording;

static void make(pthread_mutex_t *mutex, int kind) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, kind);
    assert(pthread_mutex_init(mutex, &attr) == 0);
}

static void *worker(void *arg) {
    int outermost = covsched_thread_enter(1000);
    // In mode off, 0: nothing is asked of the exit then.
    assert(outermost == recording && covsched_thread_enter(1001) == 0);
    covsched_thread_exit(0, 1001);
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&plain);
        shared++;
        pthread_mutex_unlock(&plain);
    }
    covsched_thread_exit(outermost, 1002);
    return arg;
}

int main(void) {
    int outermost = recording = covsched_main_enter(2000);
    errno = 77;
    make(&recursive, PTHREAD_MUTEX_RECURSIVE);
    make(&checking, PTHREAD_MUTEX_ERRORCHECK);
    assert(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_unlock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == 0);
    assert(pthread_mutex_lock(&checking) == 0);
    assert(pthread_mutex_lock(&checking) == EDEADLK);
    assert(pthread_mutex_unlock(&checking) == 0);
    assert(pthread_mutex_unlock(&checking) == EPERM);
    assert(pthread_mutex_trylock(&plain) == 0 && pthread_mutex_trylock(&plain) == EBUSY);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    assert(pthread_mutex_timedlock(&plain, &now) == ETIMEDOUT);
    assert(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &(struct timespec){0}) == ETIMEDOUT);
    pthread_mutex_unlock(&plain);
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) assert(pthread_create(&threads[i], 0, worker, (void *)i) == 0);
    for (long i = 0; i < 4; i++) {
        void *value;
        assert(pthread_join(threads[i], &value) == 0 && value == (void *)i);
    }
    assert(shared == 8000);
    assert(pthread_mutex_destroy(&recursive) == 0);
    assert(errno == 77);
    covsched_thread_exit(outermost, 2001);
    return 0;
}
