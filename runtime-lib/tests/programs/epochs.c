// Threads that meet at epoch markers, and what they do in between: one scenario a run, named by the first argument.
// Markers are written by hand; each prints "ok" at its end, and asserts what must hold on the way.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "hooks.h"

#define ROUNDS 200
#define THREADS 4
#define MARKER covsched_epoch_marker(__LINE__ + 10000)

extern _Thread_local long covsched_instructions;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int shared, is_barrier;
static atomic_int rounds[THREADS];
static atomic_int flag;

static void all(void *(*body)(void *), int count) {
    pthread_t threads[THREADS];
    for (long i = 0; i < count; i++) assert(pthread_create(&threads[i], 0, body, (void *)i) == 0);
    for (int i = 0; i < count; i++) assert(pthread_join(threads[i], 0) == 0);
}

// After marker k, every other thread has come to its marker k, and none is a whole epoch ahead.
static void *in_step(void *me) {
    for (int round = 1; round <= ROUNDS; round++) {
        rounds[(long)me] = round;
        MARKER;
        for (int i = 0; is_barrier && i < THREADS; i++)
            assert(rounds[i] == round || rounds[i] == round + 1);
    }
    return 0;
}
static void lockstep(void) { all(in_step, THREADS); }

// Bergan 3.2.2: one waits for a lock that another holds while it stops at a marker.
static void *holds(void *me) {
    for (int i = 0; i < ROUNDS; i++) {
        assert(pthread_mutex_lock(&lock) == 0);
        shared++;
        MARKER;
        shared++;
        assert(pthread_mutex_unlock(&lock) == 0);
    }
    return 0;
}
static void held(void) {
    all(holds, THREADS);
    assert(shared == 2 * ROUNDS * THREADS);
}

// A loop that locks, with the marker outside, and try-locks in between.
static void *contends(void *me) {
    for (int i = 0; i < ROUNDS; i++) {
        MARKER;
        if (i % 5 == (long)me && pthread_mutex_trylock(&lock) == 0) pthread_mutex_unlock(&lock);
        for (int j = 0; j < 3; j++) {
            pthread_mutex_lock(&lock);
            shared++;
            pthread_mutex_unlock(&lock);
        }
    }
    return 0;
}
static void locks(void) {
    all(contends, THREADS);
    assert(shared == 3 * ROUNDS * THREADS);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static int read_rounds;
static void *reads_and_writes(void *me) {
    for (int i = 0; i < ROUNDS; i++) {
        int writes = (i + (long)me) % 3 == 0;
        assert((writes ? pthread_rwlock_wrlock(&rwlock) : pthread_rwlock_rdlock(&rwlock)) == 0);
        MARKER;
        if (writes) shared++;
        else read_rounds |= shared;
        assert(pthread_rwlock_unlock(&rwlock) == 0);
        pthread_spin_lock(&spin);
        MARKER;
        pthread_spin_unlock(&spin);
    }
    return 0;
}
static void other_locks(void) {
    pthread_spin_init(&spin, 0);
    all(reads_and_writes, THREADS);
}

// A queue: the producer's loop and the consumers' have markers.
static int queued, taken, closed;
static void *consumes(void *me) {
    for (;;) {
        MARKER;
        pthread_mutex_lock(&lock);
        while (!queued && !closed) pthread_cond_wait(&cond, &lock);
        if (!queued) break;
        queued--;
        taken++;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}
static void conditions(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, consumes, 0);
    for (int i = 0; i < ROUNDS; i++) {
        MARKER;
        pthread_mutex_lock(&lock);
        queued++;
        if (i % 7 == 0) pthread_cond_broadcast(&cond);
        else pthread_cond_signal(&cond);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    closed = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    assert(taken == ROUNDS);
}

// A tree of threads, made and joined inside of epochs.
static void *makes(void *depth) {
    pthread_t children[2];
    MARKER;
    if (!depth) return 0;
    for (int i = 0; i < 2; i++) {
        assert(pthread_create(&children[i], 0, makes, (void *)((long)depth - 1)) == 0);
        MARKER;
    }
    for (int i = 0; i < 2; i++) {
        MARKER;
        assert(pthread_join(children[i], 0) == 0);
    }
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
    return 0;
}
static void creation(void) {
    for (int i = 0; i < 10; i++) {
        MARKER;
        makes((void *)3);
    }
    assert(shared == 70);
}

static pthread_barrier_t barrier;
static void *phases(void *me) {
    for (int i = 0; i < ROUNDS; i++) {
        rounds[(long)me]++;
        if (i % 3 == (long)me) MARKER;
        int result = pthread_barrier_wait(&barrier);
        assert(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        for (int j = 0; j < THREADS; j++) assert(rounds[j] == i + 1 || rounds[j] == i + 2);
    }
    return 0;
}
static void barriers(void) {
    pthread_barrier_init(&barrier, 0, THREADS);
    all(phases, THREADS);
}

static sem_t turns[2];
static void *takes_turns(void *me) {
    for (int i = 0; i < ROUNDS; i++) {
        MARKER;
        assert(sem_wait(&turns[(long)me]) == 0);
        shared++;
        assert(sem_post(&turns[1 - (long)me]) == 0);
    }
    return 0;
}
static void semaphores(void) {
    sem_init(&turns[0], 0, 1);
    sem_init(&turns[1], 0, 0);
    all(takes_turns, 2);
    assert(shared == 2 * ROUNDS);
}

// Spins on what another thread writes: without its marker the other would stop for ever.
static void *waits_for_flag(void *me) {
    for (int i = 1; i <= ROUNDS; i++)
        while (flag < i) MARKER;
    return 0;
}
static void spinning(void) {
    pthread_t thread;
    pthread_create(&thread, 0, waits_for_flag, 0);
    for (int i = 1; i <= ROUNDS; i++) {
        MARKER;
        flag = i;
    }
    pthread_join(thread, 0);
}

static struct timespec after(clockid_t clock, int milliseconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += milliseconds * 1000000L;
    time.tv_sec += time.tv_nsec / 1000000000L;
    time.tv_nsec %= 1000000000L;
    return time;
}

// Timed waits of each kind, which nobody ends, while another thread wants to get on.
static void *steps(void *me) {
    for (int i = 0; i < ROUNDS || !flag; i++) MARKER;
    return 0;
}
static void *keeps(void *me) {
    pthread_mutex_lock(&lock);
    pthread_rwlock_wrlock(&rwlock);
    sem_post(&turns[0]);
    while (!flag) MARKER;
    pthread_rwlock_unlock(&rwlock);
    pthread_mutex_unlock(&lock);
    return 0;
}
static void timed(void) {
    pthread_t threads[2];
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    sem_init(&turns[0], 0, 0);
    pthread_create(&threads[0], 0, steps, 0);
    pthread_create(&threads[1], 0, keeps, 0);
    sem_wait(&turns[0]);
    pthread_mutex_lock(&own);
    for (int i = 0; i < 4; i++) {
        MARKER;
        struct timespec at = after(CLOCK_REALTIME, 3);
        assert(pthread_cond_timedwait(&cond, &own, &at) == ETIMEDOUT);
        at = after(CLOCK_REALTIME, 15);
        assert(pthread_mutex_timedlock(&lock, &at) == ETIMEDOUT);
        at = after(CLOCK_MONOTONIC, 3);
        assert(pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
        at = after(CLOCK_REALTIME, 3);
        assert(pthread_rwlock_timedrdlock(&rwlock, &at) == ETIMEDOUT);
        errno = 0;
        at = after(CLOCK_REALTIME, 12);
        assert(sem_timedwait(&turns[0], &at) == -1 && errno == ETIMEDOUT);
        at.tv_nsec = -1;
        assert(sem_timedwait(&turns[0], &at) == -1 && errno == EINVAL);
        assert(pthread_mutex_timedlock(&lock, &at) == EINVAL);
        assert(pthread_mutex_clocklock(&lock, 99, &at) == EINVAL);
        at = after(CLOCK_REALTIME, 3);
        assert(pthread_timedjoin_np(threads[1], 0, &at) == ETIMEDOUT);
        assert(pthread_tryjoin_np(threads[1], 0) == EBUSY);
        errno = 77;
        MARKER;
        pthread_mutex_unlock(&own);
        pthread_mutex_lock(&own);
        assert(errno == 77);
    }
    flag = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}

// Locks that a thread has itself: refused as without epochs.
static void refused(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_t checked, recursive, robust;
    pthread_mutex_init(&checked, &attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    assert(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&checked) == EDEADLK);
    assert(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_lock(&robust) == 0 && pthread_mutex_unlock(&robust) == 0);
    assert(pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_rdlock(&rwlock) == EDEADLK);
    assert(pthread_rwlock_wrlock(&rwlock) == EDEADLK);
    MARKER;
    assert(pthread_mutex_unlock(&checked) == 0 && pthread_mutex_unlock(&checked) == EPERM);
}

// Two contexts of one marker, and two orders of threads: ids tell the former apart only.
static void inner(void) { MARKER; }
static void *calls(void *me) {
    for (int i = 0; i < 10; i++) {
        int depth = covsched_derived_enter(i % 2 ? 501 : 502);
        inner();
        covsched_derived_leave(depth);
    }
    return 0;
}
static void contexts(void) { all(calls, 2); }

// Passes by markers: few instructions a marker in one thread, many in the others.
static void *counts(void *me) {
    for (int i = 0; i < 60; i++) {
        covsched_instructions += me ? 100 : 10;
        covsched_epoch_marker(900 + (long)me);
    }
    return 0;
}
static void shapes(void) { all(counts, 2); }

// One waits in a pipe for what the other writes when it has met a marker.
static int ends[2];
static void *writes(void *me) {
    for (int i = 0; i < ROUNDS; i++) {
        MARKER;
        MARKER;
        int left = covsched_epoch_leave();
        assert(write(ends[1], "x", 1) == 1);
        covsched_epoch_enter(left);
    }
    return 0;
}
static void pipes(void) {
    char byte;
    pthread_t thread;
    assert(pipe(ends) == 0);
    pthread_create(&thread, 0, writes, 0);
    for (int i = 0; i < ROUNDS; i++) {
        int left = covsched_epoch_leave();
        assert(read(ends[0], &byte, 1) == 1);
        covsched_epoch_enter(left);
        MARKER;
    }
    pthread_join(thread, 0);
}

// A callback inside of a library call meets markers and locks; the call then waits for the other thread all the same.
static void *answers(void *me) {
    for (int i = 0; i < ROUNDS; i++) {
        MARKER;
        pthread_mutex_lock(&lock);
        shared++;
        pthread_mutex_unlock(&lock);
    }
    assert(write(ends[1], "x", 1) == 1);
    return 0;
}
static void callbacks(void) {
    char byte;
    pthread_t thread;
    assert(pipe(ends) == 0);
    pthread_create(&thread, 0, answers, 0);
    int left = covsched_epoch_leave();
    for (int i = 0; i < 10; i++) {
        MARKER;
        int again = covsched_epoch_leave();
        covsched_epoch_enter(again);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    assert(read(ends[0], &byte, 1) == 1);
    covsched_epoch_enter(left);
    pthread_join(thread, 0);
}

// The library call is unwound: the thread is back when its derived call is over, and then others wait for it.
static void *leaves(void *me) {
    int depth = covsched_derived_enter(700);
    covsched_epoch_leave();
    covsched_derived_leave(depth);
    pthread_barrier_wait(&barrier);
    return in_step(me);
}
static void unwinding(void) {
    pthread_barrier_init(&barrier, 0, THREADS);
    all(leaves, THREADS);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void routine(void) {
    for (int i = 0; i < 20; i++) MARKER;
    shared++;
}
static void *runs_once(void *me) {
    MARKER;
    pthread_once(&once, routine);
    assert(shared == 1);
    pthread_barrier_wait(&barrier);
    return in_step(me);
}
static void onces(void) {
    pthread_barrier_init(&barrier, 0, THREADS);
    all(runs_once, THREADS);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"lockstep", lockstep}, {"held", held}, {"locks", locks}, {"other_locks", other_locks},
        {"conditions", conditions}, {"creation", creation}, {"barriers", barriers}, {"semaphores", semaphores},
        {"spinning", spinning}, {"timed", timed}, {"refused", refused}, {"contexts", contexts}, {"shapes", shapes},
        {"pipes", pipes}, {"callbacks", callbacks}, {"unwinding", unwinding}, {"onces", onces},
    };
    assert(count >= 2);
    int outermost = covsched_main_enter(2000);
    is_barrier = count < 3 || strcmp(arguments[2], "free");
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(arguments[1], scenarios[i].name)) continue;
        scenarios[i].run();
        puts("ok");
        covsched_thread_exit(outermost, 2001);
        return 0;
    }
    return 2;
}
