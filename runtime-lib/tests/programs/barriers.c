// More threads than the barrier is for: each generation is exactly its count, one serial thread each.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include "hooks.h"

static pthread_barrier_t barrier;
static atomic_int serial, arrivals = 600;

static void *worker(void *arg) {
    while (arrivals-- > 0)
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    return arg;
}

int main(void) {
    pthread_t threads[6];
    pthread_barrier_init(&barrier, 0, 3);
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], 0);
    assert(serial == 200);
    assert(pthread_barrier_destroy(&barrier) == 0);
    pthread_barrier_init(&barrier, 0, 1);
    assert(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
    return 0;
}
