// The folder of the recording goes away: new threads and children go on unrecorded.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "hooks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void run(int threads) {
    pthread_t thread[2];
    for (int i = 0; i < threads; i++) assert(pthread_create(&thread[i], 0, worker, 0) == 0);
    for (int i = 0; i < threads; i++) assert(pthread_join(thread[i], 0) == 0);
}

int main(int argc, char **argv) {
    run(1);
    assert(rename(argv[1], argv[2]) == 0);
    // The first goes on in the log of the thread that has ended; the second would need one of its own.
    run(2);
    pid_t child = fork();
    if (child == 0) {
        run(1);
        pthread_exit(0);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && status == 0);
    assert(rename(argv[2], argv[1]) == 0);
    return 0;
}
