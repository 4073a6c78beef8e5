// How processes end that have an engine: as if they had none.
#include "loomed.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

LOOM_UNIT(0x1002, 1, 2, 1)

static void nap(long milliseconds) {
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, 0);
}

static void late(void *argument) {
    Outer outer;
    covsched_loom_enter(&outer);
    CHECK_FAST(0, 0);
    covsched_loom_leave(&outer);
    (void)argument;
}

static void *body(void *argument) {
    pthread_key_t key;
    pthread_key_create(&key, late);
    pthread_setspecific(key, argument);
    RELEASE(1);
    nap(200);
    REACQUIRE(1);
    if (!strcmp(argument, "vanish")) syscall(SYS_exit, 0); // no destructors
    return 0;
}

static void *thread(void *argument) {
    Outer outer;
    covsched_loom_enter(&outer);
    body(argument);
    covsched_loom_leave(&outer);
    return 0;
}

static void at_exit(void) { puts("exit handler"); }

int main(int count, char **arguments) {
    Outer outer;
    covsched_loom_enter(&outer);
    const char *how = count > 1 ? arguments[1] : "return";
    pthread_t made;
    atexit(at_exit);
    if (pthread_create(&made, 0, thread, (void *)how)) return 1;
    if (!strcmp(how, "exit")) pthread_exit(0); // C: the wrapper's end is not reached
    RELEASE(0);
    nap(50);
    if (!strcmp(how, "cancel")) pthread_cancel(made);
    if (!strcmp(how, "close"))
        for (int fd = 3; fd < 1024; fd++) close(fd);
    if (!strcmp(how, "exec")) {
        char *again[] = {arguments[0], "return", 0};
        execv("/proc/self/exe", again);
    }
    if (!strcmp(how, "vanish")) nap(400);
    else pthread_join(made, 0);
    nap(100);
    REACQUIRE(0);
    puts("end of main");
    covsched_loom_leave(&outer);
    return 0;
}
