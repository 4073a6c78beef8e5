// Threads and processes that end, are cancelled or interrupted while others stop at epoch markers. One scenario a run.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "hooks.h"

#define ROUNDS 100
#define MARKER covsched_epoch_marker(__LINE__ + 10000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static atomic_int flag, count;

static void pause_a_little(void) { nanosleep(&(struct timespec){0, 2000000}, 0); }

static void *steps(void *me) {
    for (int i = 0; i < ROUNDS || !flag; i++) {
        MARKER;
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

// Cancelled in each wait that is a cancellation point, while another thread gets on.
static pthread_t stepper;
static void unlocks(void *unused) { pthread_mutex_unlock(&lock); }
static void *waits(void *how) {
    switch ((long)how) {
    case 0:
        pthread_mutex_lock(&lock);
        pthread_cleanup_push(unlocks, 0);
        for (;;) pthread_cond_wait(&cond, &lock);
        pthread_cleanup_pop(0);
    case 1: for (;;) sem_wait(&sem);
    case 2: for (;;) {
            struct timespec at;
            clock_gettime(CLOCK_REALTIME, &at);
            at.tv_sec += 30;
            sem_timedwait(&sem, &at);
        }
    case 3: pthread_join(stepper, 0);
    }
    return 0;
}
static void cancel(void) {
    sem_init(&sem, 0, 0);
    pthread_create(&stepper, 0, steps, 0);
    for (long i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;
        MARKER;
        pthread_create(&thread, 0, waits, (void *)(i % 4));
        if (i % 3) MARKER;
        if (i % 2) pause_a_little();
        pthread_cancel(thread);
        assert(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    // Nobody waits any more: the units are all there.
    for (int i = 0; i < 3; i++) sem_post(&sem);
    for (int i = 0; i < 3; i++) assert(sem_trywait(&sem) == 0);
    flag = 1;
    assert(pthread_join(stepper, 0) == 0);
}

// A handler posts, meets markers, and interrupts threads that stop, wait and run.
static void handler(int signal) {
    int error = errno;
    assert(sem_post(&sem) == 0);
    MARKER;
    errno = error;
}
static void *takes(void *me) {
    for (int i = 0; i < ROUNDS; i++) {
        MARKER;
        while (sem_wait(&sem) != 0) assert(errno == EINTR);
        count++;
    }
    return 0;
}
static void interrupted(int flags) {
    pthread_t threads[2];
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(SIGALRM, &action, 0);
    sem_init(&sem, 0, 0);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, takes, 0);
    struct itimerval every = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &every, 0);
    while (count < 2 * ROUNDS) MARKER;
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_REAL, &every, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
static void handlers(void) { interrupted(0); }

// A handler meets a marker while its thread ends, and somebody joins that.
static void meets(int signal) { MARKER; }
static void *ends_at_once(void *me) { return 0; }
static void *signals(void *me) {
    struct itimerval every = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &every, 0);
    return 0;
}
static void ending(void) {
    pthread_t thread;
    sigset_t alarm;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = meets;
    sigaction(SIGALRM, &action, 0);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    for (int i = 0; i < 10 * ROUNDS; i++) {
        // Only the thread gets signals.
        pthread_create(&thread, 0, i ? ends_at_once : signals, 0);
        pthread_sigmask(SIG_BLOCK, &alarm, 0);
        pthread_join(thread, 0);
        pthread_sigmask(SIG_UNBLOCK, &alarm, 0);
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, 0);
}

// With SA_RESTART a wait is not interrupted, however often a handler runs.
static void *waits_through(void *me) {
    assert(sem_wait(&sem) == 0);
    flag = 1;
    return 0;
}
static void does_nothing(int signal) {}
static void restarted(void) {
    pthread_t thread;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = does_nothing;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, 0);
    sem_init(&sem, 0, 0);
    pthread_create(&thread, 0, waits_through, 0);
    for (int i = 0; i < 20; i++) {
        MARKER;
        pthread_kill(thread, SIGUSR1);
        pause_a_little();
    }
    sem_post(&sem);
    pthread_join(thread, 0);
    assert(flag);
}

// The process ends while others stop; an exit handler joins one of them, and locks what it holds.
static pthread_t worker;
static void *works_on(void *me) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ROUNDS; i++) MARKER;
    pthread_mutex_unlock(&lock);
    return 0;
}
static void *works_for_ever(void *me) {
    for (;;) MARKER;
}
static void at_exit(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    assert(pthread_join(worker, 0) == 0);
    puts("handled");
}
static void exits(void) {
    pthread_t other;
    atexit(at_exit);
    pthread_create(&worker, 0, works_on, 0);
    pthread_create(&other, 0, works_for_ever, 0);
    for (int i = 0; i < 5; i++) MARKER;
    puts("ok");
    exit(0);
}

// A child has one thread, and epochs of its own; what others held in the parent is theirs.
static void forks(void) {
    pthread_t thread;
    pthread_create(&thread, 0, steps, 0);
    for (int i = 0; i < 5; i++) {
        MARKER;
        pid_t child = fork();
        assert(child >= 0);
        if (child == 0) {
            static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
            pthread_t inner;
            lock = own;
            count = 0;
            flag = 1;
            pthread_create(&inner, 0, steps, 0);
            for (int j = 0; j < 20; j++) MARKER;
            pthread_join(inner, 0);
            _exit(count == ROUNDS ? 0 : 1);
        }
        int status, left = covsched_epoch_leave();
        assert(waitpid(child, &status, 0) == child);
        covsched_epoch_enter(left);
        assert(status == 0);
    }
    flag = 1;
    pthread_join(thread, 0);
}

// Nobody joins them; they end at markers' mercy, and main waits for a semaphore.
static void *ends_alone(void *me) {
    pthread_detach(pthread_self());
    for (int i = 0; i < 20; i++) MARKER;
    sem_post(&sem);
    return 0;
}
static void detached(void) {
    sem_init(&sem, 0, 0);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        MARKER;
        pthread_create(&thread, 0, ends_alone, 0);
    }
    for (int i = 0; i < 20; i++) {
        MARKER;
        sem_wait(&sem);
    }
}

// Main ends first.
static void *outlives(void *me) {
    for (int i = 0; i < ROUNDS; i++) MARKER;
    if (++count == 3) puts("ok");
    return 0;
}
static void main_ends(void) {
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, outlives, 0);
    }
    MARKER;
    pthread_exit(0);
}

// Destructors of a thread's data lock, join and meet markers.
static pthread_key_t key;
static void *ended_first(void *me) {
    for (int i = 0; i < 10; i++) MARKER;
    return 0;
}
static void destroys(void *thread) {
    MARKER;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    assert(pthread_join(*(pthread_t *)thread, 0) == 0);
    free(thread);
    count++;
}
static void *has_data(void *me) {
    pthread_t *thread = malloc(sizeof *thread);
    pthread_create(thread, 0, ended_first, 0);
    pthread_setspecific(key, thread);
    MARKER;
    if (me) pthread_exit(0);
    return 0;
}
static void destructors(void) {
    pthread_t threads[3];
    pthread_key_create(&key, destroys);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, has_data, (void *)(i % 2));
    for (int i = 0; i < 3; i++) {
        MARKER;
        pthread_join(threads[i], 0);
    }
    assert(count == 3);
}

#undef pthread_create
#undef pthread_mutex_lock
#undef pthread_mutex_unlock
#undef sem_post
// A thread of code without hooks takes no part, and gives up what ours wait for without telling.
static void *is_foreign(void *me) {
    for (int i = 0; i < 20; i++) {
        MARKER;
        pthread_mutex_lock(&lock);
        pause_a_little();
        pthread_mutex_unlock(&lock);
        sem_post(&sem);
    }
    flag = 1;
    return 0;
}
static void *needs_foreign(void *me) {
    for (int i = 0; i < 10; i++) {
        MARKER;
        covsched_pthread_mutex_lock(&lock, 1);
        covsched_pthread_mutex_unlock(&lock, 2);
        while (sem_wait(&sem)) {}
    }
    return 0;
}
static void foreign(void) {
    pthread_t threads[3];
    sem_init(&sem, 0, 0);
    pthread_create(&threads[0], 0, is_foreign, 0);
    for (int i = 1; i < 3; i++) covsched_pthread_create(&threads[i], 0, needs_foreign, 0, 3);
    for (int i = 2; i >= 0; i--) {
        MARKER;
        pthread_join(threads[i], 0);
    }
}

int main(int argc, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"cancel", cancel}, {"handlers", handlers}, {"ending", ending}, {"restarted", restarted}, {"exits", exits}, {"forks", forks},
        {"detached", detached}, {"main_ends", main_ends}, {"destructors", destructors}, {"foreign", foreign},
    };
    assert(argc >= 2);
    int outermost = covsched_main_enter(2000);
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(arguments[1], scenarios[i].name)) continue;
        scenarios[i].run();
        puts("ok");
        covsched_thread_exit(outermost, 2001);
        return 0;
    }
    return 2;
}
