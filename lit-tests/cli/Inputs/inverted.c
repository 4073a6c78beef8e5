// Two threads that get on well, until a filter makes `inner` and `outer` exclude each other: one then waits for the mutex inside
// of `outer`, the other for the filter with the mutex in its hand.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long count;
static atomic_int ends;

__attribute__((noinline)) static void inner(void) { // inner
    count++;
}

__attribute__((noinline)) static void outer(void) { // outer
    pthread_mutex_lock(&mutex);
    count++;
    pthread_mutex_unlock(&mutex);
}

static void *calls_inner(void *unused) {
    while (!atomic_load(&ends)) {
        pthread_mutex_lock(&mutex);
        usleep(1000);
        inner();
        pthread_mutex_unlock(&mutex);
        usleep(100);
    }
    return unused;
}

static void *calls_outer(void *unused) {
    while (!atomic_load(&ends)) {
        outer();
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, calls_inner, 0);
    pthread_create(&threads[1], 0, calls_outer, 0);
    getchar();
    atomic_store(&ends, 1);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    puts("both ended");
    return 0;
}
