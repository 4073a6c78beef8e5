// pthread_once with a nested once, from several threads.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
#include "hooks.h"

static pthread_once_t outer = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT;
static int outers, inners;

static void run_inner(void) { inners++; }
static void run_outer(void) {
    usleep(1000);
    pthread_once(&inner, run_inner);
    pthread_once(&inner, run_inner);
    outers++;
}

static void *worker(void *arg) {
    pthread_once(&outer, run_outer);
    assert(outers == 1 && inners == 1);
    return arg;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}
