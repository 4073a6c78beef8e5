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

static void run(void) {
    pthread_t thread;
    assert(pthread_create(&thread, 0, worker, 0) == 0);
    assert(pthread_join(thread, 0) == 0);
}

int main(int argc, char **argv) {
    run();
    assert(rename(argv[1], argv[2]) == 0);
    run();
    pid_t child = fork();
    if (child == 0) {
        run();
        pthread_exit(0);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && status == 0);
    assert(rename(argv[2], argv[1]) == 0);
    return 0;
}
