// Timed waits: never early, refused where glibc refuses, a signal beats the deadline.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "hooks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, monotonic;
static int ready;

static struct timespec in(clockid_t clock, long ms) {
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_nsec += ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static int passed(clockid_t clock, struct timespec at) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
}

static void *signaller(void *arg) {
    usleep(20000);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    assert(pthread_cond_init(&monotonic, &attr) == 0);
    errno = 77;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 20; i++) {
        struct timespec at = in(CLOCK_REALTIME, 1 + i % 3);
        assert(pthread_cond_timedwait(&cond, &lock, &at) == ETIMEDOUT && passed(CLOCK_REALTIME, at));
        at = in(CLOCK_MONOTONIC, 1 + i % 3);
        assert(pthread_cond_timedwait(&monotonic, &lock, &at) == ETIMEDOUT && passed(CLOCK_MONOTONIC, at));
        at = in(CLOCK_MONOTONIC, 1);
        assert(pthread_cond_clockwait(&cond, &lock, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
        assert(passed(CLOCK_MONOTONIC, at));
    }
    struct timespec bad = {0, 1000000000}, past = {0, 0};
    assert(pthread_cond_timedwait(&cond, &lock, &bad) == EINVAL);
    assert(pthread_cond_clockwait(&cond, &lock, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
    assert(pthread_cond_timedwait(&cond, &lock, &past) == ETIMEDOUT);
    pthread_t thread;
    pthread_create(&thread, 0, signaller, 0);
    struct timespec at = in(CLOCK_REALTIME, 60000);
    while (!ready) assert(pthread_cond_timedwait(&cond, &lock, &at) == 0);
    // A wake-up that is lost would end at the deadline, and look like a signal that came just then.
    struct timespec much_later = at;
    much_later.tv_sec -= 30;
    assert(!passed(CLOCK_REALTIME, much_later));
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    assert(errno == 77);
    sem_t sem;
    sem_init(&sem, 0, 1);
    assert(sem_trywait(&sem) == 0);
    assert(sem_trywait(&sem) == -1 && errno == EAGAIN);
    at = in(CLOCK_REALTIME, 2);
    assert(sem_timedwait(&sem, &at) == -1 && errno == ETIMEDOUT);
    at = in(CLOCK_MONOTONIC, 2);
    assert(sem_clockwait(&sem, CLOCK_MONOTONIC, &at) == -1 && errno == ETIMEDOUT);
    sem_post(&sem);
    int value;
    assert(sem_getvalue(&sem, &value) == 0 && value == 1);
    // A mutex that is not ours: the wait fails and leaves the queue.
    pthread_mutex_t checking;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &kind);
    assert(pthread_cond_wait(&cond, &checking) == EPERM);
    exit(3);
}
