// fork in a threaded program: the child has one thread and records to files of its own.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "hooks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int stop;

static void *churn(void *arg) {
    while (!stop) {
        pthread_mutex_lock(&busy);
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&busy);
    }
    return 0;
}

static void *in_child(void *arg) {
    int outermost = covsched_thread_enter(10);
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    covsched_thread_exit(outermost, 11);
    return 0;
}

static void *forker(void *arg) {
    int outermost = covsched_thread_enter(20);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            pthread_mutex_lock(&lock);
            pthread_create(&thread, 0, in_child, 0);
            struct timespec at;
            clock_gettime(CLOCK_REALTIME, &at);
            at.tv_sec += 20;
            assert(pthread_cond_timedwait(&cond, &lock, &at) == 0);
            pthread_mutex_unlock(&lock);
            pthread_join(thread, 0);
            exit(4);
        }
        int status;
        assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
    }
    covsched_thread_exit(outermost, 21);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    covsched_main_enter(30);
    pthread_create(&threads[0], 0, churn, 0);
    pthread_create(&threads[1], 0, forker, 0);
    pthread_join(threads[1], 0);
    stop = 1;
    pthread_join(threads[0], 0);
    return 0;
}
