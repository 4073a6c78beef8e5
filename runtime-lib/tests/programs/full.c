// The file size limit is reached while recording: the program goes on, no signal, no error.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "hooks.h"

int main(int argc, char **argv) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (argc > 1) {
        struct rlimit limit = {atol(argv[1]), atol(argv[1])};
        assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    errno = 77;
    for (int i = 0; i < 100000; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    assert(errno == 77);
    puts("done");
    return 0;
}
