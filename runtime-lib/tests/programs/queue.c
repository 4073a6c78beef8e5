// A bounded queue with condition variables, then a broadcast.
#include <assert.h>
#include <pthread.h>
#include "hooks.h"

enum { ITEMS = 300, ROOM = 2 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t go;
static int filled, taken, started, released;

static void *producer(void *arg) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (filled == ROOM) pthread_cond_wait(&not_full, &lock);
        filled++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void *consumer(void *arg) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (filled == 0) pthread_cond_wait(&not_empty, &lock);
        filled--;
        taken++;
        pthread_mutex_unlock(&lock);
        pthread_cond_signal(&not_full);
    }
    return arg;
}

static void *waiter(void *arg) {
    pthread_mutex_lock(&lock);
    started++;
    while (!released) pthread_cond_wait(&go, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t threads[6];
    pthread_cond_init(&go, 0);
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], 0, i % 2 ? consumer : producer, 0);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], 0);
    assert(taken == 3 * ITEMS && filled == 0);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, waiter, 0);
    for (;;) {
        pthread_mutex_lock(&lock);
        int all = started == 3;
        if (all) released = 1;
        pthread_mutex_unlock(&lock);
        if (all) break;
    }
    pthread_cond_broadcast(&go);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    assert(pthread_cond_destroy(&go) == 0);
    return 0;
}
