// A program that closes descriptors which it does not know, and gives their numbers to files of its own, just when the engine is
// about to use them: the kernel stops the engine before such a call (seccomp), and says so to a thread of the program.
#include "loomed.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

LOOM_UNIT(0x1003, 1, 1, 1)

enum { LISTENER = 900, OWN_FILE = 901, MOST = 1024, CALLS = 4 };
static volatile int taken[MOST];
static volatile long taken_count, lost; // how often; how often the engine had closed it again

// Which of the engine's calls, and the how-manieth of each: 1 is the lowest bit.
static const struct {
    int call;
    unsigned times;
} calls[CALLS] = {
    {SYS_getdents64, 1}, // of its folder
    {SYS_bind, 1},
    {SYS_listen, 1},
    {SYS_fcntl, 1 | 4}, // gives a socket another number: the one that listens, then a controller's
};

static void *take_numbers(void *argument) {
    unsigned had[CALLS] = {0};
    for (;;) {
        struct seccomp_notif stopped;
        memset(&stopped, 0, sizeof stopped);
        if (ioctl(LISTENER, SECCOMP_IOCTL_NOTIF_RECV, &stopped)) continue;
        int number = (int)stopped.data.args[0];
        for (int i = 0; i < CALLS; i++) {
            if (calls[i].call != stopped.data.nr || !(calls[i].times >> had[i]++ & 1)) continue;
            if (dup2(OWN_FILE, number) != number) abort();
            lost += taken[number];
            taken[number] = 1;
            taken_count++;
        }
        struct seccomp_notif_resp goes_on = {stopped.id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ioctl(LISTENER, SECCOMP_IOCTL_NOTIF_SEND, &goes_on);
    }
    return argument;
}

static int stop_before_calls(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getdents64, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bind, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_listen, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_DUPFD_CLOEXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void *second(void *argument) {
    Outer outer;
    covsched_loom_enter(&outer);
    RELEASE(0);
    pause();
    return argument;
}

// How many of the numbers are not the program's file any more, or are so though it did not ask for that.
static int wrong(void) {
    struct stat own, facts;
    int count = 0;
    if (fstat(OWN_FILE, &own)) return 1;
    for (int number = 3; number < MOST; number++) {
        int is_own = !fstat(number, &facts) && facts.st_dev == own.st_dev && facts.st_ino == own.st_ino;
        if (is_own == (taken[number] || number == OWN_FILE)) continue;
        fprintf(stderr, "descriptor %d is %s\n", number, is_own ? "made by somebody" : "lost");
        count++;
    }
    return count;
}

int main(int count, char **arguments) {
    (void)count;
    Outer outer;
    covsched_loom_enter(&outer);
    RELEASE(0);
    int file = open(arguments[0], O_RDONLY | O_CLOEXEC), listener = stop_before_calls();
    pthread_t threads[2];
    if (file < 0 || dup2(file, OWN_FILE) < 0 || listener < 0 || dup2(listener, LISTENER) < 0) {
        perror("no such test here");
        return 1;
    }
    close(file), close(listener);
    if (pthread_create(&threads[0], 0, take_numbers, 0) || pthread_create(&threads[1], 0, second, 0)) return 1;
    printf("ready %d\n", getpid());
    fflush(stdout);
    while (getchar() != 'q');
    if (taken_count != 5 || lost) fprintf(stderr, "%ld numbers taken, %ld lost\n", taken_count, lost);
    int status = taken_count != 5 || lost || wrong();
    puts("0 rounds");
    fflush(stdout);
    return status;
}
