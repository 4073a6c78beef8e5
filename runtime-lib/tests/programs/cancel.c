// Cancellation in a condition wait: the mutex is held in the cleanup, a signal is not swallowed.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include "hooks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t never;
static int waiting, woken, cleaned;
static pthread_t target;

static void unlock(void *arg) {
    cleaned++;
    pthread_mutex_unlock(&lock);
}

static void *waiter(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, 0);
    waiting++;
    pthread_cond_wait(&cond, &lock);
    woken++;
    pthread_cleanup_pop(1);
    return arg;
}

static void *in_sem(void *arg) {
    sem_wait(&never);
    return arg;
}

static void *in_join(void *arg) {
    pthread_join(target, 0);
    return arg;
}

static void until_waiting(int count) {
    for (int all = 0; !all; usleep(100)) {
        pthread_mutex_lock(&lock);
        all = waiting >= count;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    pthread_t a, b;
    void *value;
    for (int round = 0; round < 50; round++) {
        waiting = woken = 0;
        pthread_create(&a, 0, waiter, 0);
        until_waiting(1);
        pthread_create(&b, 0, waiter, 0);
        until_waiting(2);
        // One of them gets the signal, or passes it on when it dies.
        pthread_mutex_lock(&lock);
        if (round % 2) pthread_cond_signal(&cond);
        pthread_cancel(a);
        if (round % 2 == 0) pthread_cond_signal(&cond);
        pthread_mutex_unlock(&lock);
        pthread_join(a, &value);
        if (value == PTHREAD_CANCELED) {
            pthread_join(b, &value);
            assert(value == 0 && woken == 1);
        } else {
            pthread_cancel(b);
            pthread_join(b, &value);
            assert(value == PTHREAD_CANCELED && woken == 1);
        }
    }
    assert(cleaned == 100);
    sem_init(&never, 0, 0);
    pthread_create(&target, 0, in_sem, 0);
    pthread_create(&a, 0, in_join, 0);
    usleep(2000);
    pthread_cancel(a);
    pthread_join(a, &value);
    assert(value == PTHREAD_CANCELED);
    pthread_cancel(target);
    pthread_join(target, &value);
    assert(value == PTHREAD_CANCELED);
    return 0;
}
