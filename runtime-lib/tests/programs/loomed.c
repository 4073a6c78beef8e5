// A server that loom controls, instrumented by hand. Its worker threads pass through regions that filters protect, and
// count overlaps; the main thread reads commands.
//
// Functions: 0 worker (loop), 1 region, 2 produce, 3 consume, 4 alone.
// Locations: 0 worker's loop, 1 worker's nap, 2 yield in the region, 3 loop in the region, 4 main's read, 5 produce/consume's loop,
//   6 call of qsort, 7 never safe: read from a pipe in the region; 8 main's loop
// Slots (locations 9...): 0 enters the region, 1 leaves it, 2 worker's loop outside of all, 3 after produce, 4 before consume,
//   5 enters alone, 6 leaves alone, 7 enters a region that is not left.
#include "loomed.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

LOOM_UNIT(0x1001, 5, 9, 8)

enum { KEYS = 4, MOST = 64 };
static _Atomic long inside[KEYS], overlaps, same_key_overlaps, rounds, naps, produced, consumed, early, disturbed;
static _Atomic long ticks[MOST];
static _Atomic int stop, stay, key_range = KEYS, with_order, with_alone;
static _Atomic long hold, passes, overtaken; // microseconds in the region; how often it was entered; most that did before one that had come
static int blocker[2];

static void nap(long microseconds) {
    struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, 0);
}

// Between its slots at most one thread (a key) may be with a filter.
static void region(long key) {
    int64_t frame[2] = {key, -1};
    int slow = IS_SLOW(1);
    long came = passes;
    if (slow) SLOT(0, frame);
    long before = passes++ - came, most = overtaken;
    while (before > most && !atomic_compare_exchange_weak(&overtaken, &most, before));
    long all = 0;
    if (atomic_fetch_add(&inside[key], 1) > 0) same_key_overlaps++;
    for (int i = 0; i < KEYS; i++) all += inside[i];
    if (all > 1) overlaps++;
    if (stay) {
        char byte;
        RELEASE(7);
        if (read(blocker[0], &byte, 1) < 0) abort();
        REACQUIRE(7);
    }
    RELEASE(2);
    if (hold) nap(hold);
    else sched_yield();
    REACQUIRE(2);
    for (volatile int i = 0; i < 200; i++) {
        if (slow) CHECK_SLOW(1, 3);
        else CHECK_FAST(1, 3);
    }
    atomic_fetch_sub(&inside[key], 1);
    if (IS_SLOW(1)) SLOT(1, frame);
}

static void produce(void) {
    produced++;
    if (IS_SLOW(2)) SLOT(3, 0);
}

static void consume(void) {
    if (IS_SLOW(3)) SLOT(4, 0);
    long had = consumed++;
    if (had >= produced) early++;
}

static long sum(void) {
    long all = 0;
    for (int i = 0; i < MOST; i++) all += ticks[i];
    return all;
}

static void alone(void) {
    int slow = IS_SLOW(4);
    if (slow) SLOT(5, 0);
    long before = sum();
    nap(hold ? hold : 50); // stays alone
    if (sum() != before) disturbed++;
    if (IS_SLOW(4)) SLOT(6, 0);
}

// Called by qsort while its thread is released.
static int compare_body(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int compare(const void *a, const void *b) {
    if (!IS_OUTSIDE) return compare_body(a, b);
    Outer outer;
    covsched_loom_enter(&outer);
    int result = compare_body(a, b);
    covsched_loom_leave(&outer);
    return result;
}

static void *worker_body(void *argument) {
    long number = (long)argument;
    unsigned random = (unsigned)number * 7919 + 1;
    while (!stop) {
        if (IS_SLOW(0)) CHECK_SLOW(0, 0);
        else CHECK_FAST(0, 0);
        if (IS_SLOW(0)) SLOT(2, 0);
        random = random * 1103515245 + 12345;
        region((random >> 16) % (unsigned)key_range);
        rounds++;
        ticks[number % MOST]++;
        int data[8] = {5, 3, 8, 1, 9, 2, 7, 4};
        RELEASE(6);
        qsort(data, 8, sizeof(int), compare);
        REACQUIRE(6);
        if (with_order) {
            if (number & 1) produce();
            else if (consumed < produced + 4 || IS_SLOW(3)) consume();
        }
        if (with_alone && random >> 16 & 3) alone();
        if ((random >> 20) % 8 == 0) {
            RELEASE(1);
            nap(100);
            REACQUIRE(1);
            naps++;
        }
    }
    return argument;
}

static void *worker(void *argument) {
    Outer outer;
    covsched_loom_enter(&outer);
    void *result = worker_body(argument);
    covsched_loom_leave(&outer);
    return result;
}

static _Atomic long handled;

static void handler(int signal) {
    (void)signal;
    Outer outer;
    covsched_loom_handler_enter(&outer);
    handled++;
    covsched_loom_leave(&outer);
}

static void say(const char *format, long value) {
    printf(format, value);
    fflush(stdout);
}

// Short threads, some of which end inside a region.
static void *short_thread(void *argument) {
    Outer outer;
    covsched_loom_enter(&outer);
    int64_t frame[2] = {0, 0};
    if (IS_SLOW(1)) SLOT(0, frame);
    if (argument) {
        RELEASE(6);
        pthread_exit(0);
    }
    if (IS_SLOW(1)) SLOT(1, frame);
    covsched_loom_leave(&outer);
    return 0;
}

static void churn(void) {
    for (long i = 0; i < 200; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, short_thread, (void *)(i & 1))) abort();
        pthread_join(thread, 0);
    }
}

static void forks(void) {
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            // The child's locks are free, and it is alone.
            alarm(10);
            for (int key = 0; key < KEYS; key++) inside[key] = 0;
            covsched_loom_at = 1;
            if (covsched_loom_pending) covsched_loom_reacquire(&loom_locations[4]);
            for (int key = 0; key < KEYS; key++) region(key);
            _exit(0);
        }
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            printf("a child ended with status %x\n", status);
            exit(1);
        }
    }
}

static int main_body(int count) {
    pthread_t threads[MOST];
    if (pipe(blocker)) return 1;
    signal(SIGUSR1, handler);
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], 0, worker, (void *)i)) return 1;
    say("ready %ld\n", getpid());
    char line[64];
    for (;;) {
        CHECK_FAST(0, 8);
        RELEASE(4);
        char *got = fgets(line, sizeof line, stdin);
        if (got && *line == 'c') churn();
        if (got && *line == 'f') forks();
        if (got && *line == 's')
            for (int i = 0; i < 1000; i++) pthread_kill(threads[i % count], SIGUSR1);
        if (got && *line == 'w') {
            for (int i = 0; i < MOST; i++)
                if (write(blocker[1], "x", 1) < 0) abort();
        }
        REACQUIRE(4);
        if (!got || *line == 'q') break;
        if (*line == 'r') overlaps = same_key_overlaps = early = disturbed = overtaken = 0;
        if (*line == 'h') hold = atol(line + 1);
        if (*line == '1') key_range = 1;
        if (*line == 'o') produced = consumed = 0, with_order = 1;
        if (*line == 'a') with_alone = 1;
        if (*line == 'b') stay = 1;
        if (*line == 'w') stay = 0;
        printf("%ld overlaps %ld same %ld rounds %ld early %ld disturbed %ld handled %ld overtaken\n", overlaps,
               same_key_overlaps, rounds, early, disturbed, handled, overtaken);
        fflush(stdout);
    }
    stop = 1;
    for (int i = 0; i < MOST; i++)
        if (write(blocker[1], "x", 1) < 0) return 1;
    for (int i = 0; i < count; i++) {
        RELEASE(4);
        pthread_join(threads[i], 0);
        REACQUIRE(4);
    }
    say("%ld rounds\n", rounds);
    return 0;
}

int main(int count, char **arguments) {
    Outer outer;
    covsched_loom_enter(&outer);
    int result = main_body(count > 1 ? atoi(arguments[1]) : 4);
    covsched_loom_leave(&outer);
    return result;
}
