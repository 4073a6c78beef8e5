// C11 threads.
#include <assert.h>
#include <stddef.h>
#include <threads.h>
#include <time.h>
#include "hooks.h"

static mtx_t lock;
static cnd_t cond;
static once_flag once = ONCE_FLAG_INIT;
static int ran, ready;

static void run(void) { ran++; }

static int worker(void *arg) {
    call_once(&once, run);
    mtx_lock(&lock);
    ready++;
    cnd_signal(&cond);
    mtx_unlock(&lock);
    if (arg) thrd_exit(-5);
    return -6;
}

int main(void) {
    assert(mtx_init(&lock, mtx_timed | mtx_recursive) == thrd_success && cnd_init(&cond) == thrd_success);
    thrd_t threads[2];
    mtx_lock(&lock);
    assert(thrd_create(&threads[0], worker, 0) == thrd_success);
    assert(thrd_create(&threads[1], worker, &lock) == thrd_success);
    while (ready < 2) cnd_wait(&cond, &lock);
    assert(cnd_timedwait(&cond, &lock, &(struct timespec){0}) == thrd_timedout);
    mtx_unlock(&lock);
    int value;
    assert(thrd_join(threads[0], &value) == thrd_success && value == -6);
    assert(thrd_join(threads[1], &value) == thrd_success && value == -5);
    assert(ran == 1);
    assert(thrd_create(&threads[0], worker, 0) == thrd_success);
    assert(thrd_detach(threads[0]) == thrd_success);
    mtx_lock(&lock);
    while (ready < 3) cnd_wait(&cond, &lock);
    mtx_unlock(&lock);
    assert(mtx_trylock(&lock) == thrd_success && mtx_unlock(&lock) == thrd_success);
    cnd_broadcast(&cond);
    cnd_destroy(&cond);
    return 0;
}
