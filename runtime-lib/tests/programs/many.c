// Many short threads: the process does not grow. Prints pages and mappings after a tenth and after all.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "hooks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long done;

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    if (arg) pthread_detach(pthread_self());
    return 0;
}

static void report(void) {
    // What statm says may be off by some 64 pages a processor.
    long kilobytes = -1;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    assert(file);
    while (kilobytes < 0 && fgets(line, sizeof line, file)) sscanf(line, "Rss: %ld", &kilobytes);
    fclose(file);
    assert(kilobytes > 0);
    int mappings = 0;
    file = fopen("/proc/self/maps", "r");
    for (int c; (c = getc(file)) != EOF;) mappings += c == '\n';
    fclose(file);
    printf("%ld %d\n", kilobytes / 4, mappings);
}

int main(int argc, char **argv) {
    long count = atol(argv[1]);
    for (long i = 1; i <= count; i++) {
        pthread_t thread;
        void *detach = (void *)(i % 3 == 0 ? 1L : 0L);
        while (pthread_create(&thread, 0, worker, detach)) {}
        if (!detach) pthread_join(thread, 0);
        if (i == count / 10 || i == count) report();
    }
    // The last one may be detached.
    for (int all = 0; !all;) {
        pthread_mutex_lock(&lock);
        all = done == count;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
