// Code without hooks signals, and waits, on the same objects; it also makes a thread of its own.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
#define NO_REPLACEMENT
#include "hooks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int ready, waiting;

static void *waits_with_hooks(void *arg) {
    int outermost = covsched_thread_enter(50);
    covsched_pthread_mutex_lock(&lock, 51);
    waiting++;
    while (!ready) covsched_pthread_cond_wait(&cond, &lock, 52);
    covsched_pthread_mutex_unlock(&lock, 53);
    covsched_pthread_barrier_wait(&barrier, 54);
    covsched_thread_exit(outermost, 55);
    return arg;
}

static void *waits_without(void *arg) {
    pthread_mutex_lock(&lock);
    waiting++;
    while (ready < 2) pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void until_waiting(int count) {
    for (int all = 0; !all; usleep(100)) {
        pthread_mutex_lock(&lock);
        all = waiting == count;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    pthread_t a, b;
    covsched_pthread_barrier_init(&barrier, 0, 2, 60);
    pthread_create(&a, 0, waits_with_hooks, 0);
    until_waiting(1);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&cond);
    pthread_barrier_wait(&barrier);
    pthread_join(a, 0);
    pthread_create(&b, 0, waits_without, 0);
    until_waiting(2);
    covsched_pthread_mutex_lock(&lock, 61);
    ready = 2;
    covsched_pthread_mutex_unlock(&lock, 62);
    covsched_pthread_cond_signal(&cond, 63);
    pthread_join(b, 0);
    return 0;
}
