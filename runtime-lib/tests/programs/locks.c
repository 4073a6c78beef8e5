// Readers and writers, spin locks, semaphores as a lock.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include "hooks.h"

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static int a, b, c;

static void *worker(void *arg) {
    for (int i = 0; i < 500; i++) {
        if (i % 4) {
            if (i % 3 == 0 || pthread_rwlock_tryrdlock(&rwlock)) pthread_rwlock_rdlock(&rwlock);
            (void)*(volatile int *)&a;
        } else {
            if (pthread_rwlock_trywrlock(&rwlock)) pthread_rwlock_wrlock(&rwlock);
            a++;
        }
        pthread_rwlock_unlock(&rwlock);
        if (pthread_spin_trylock(&spin)) pthread_spin_lock(&spin);
        b++;
        pthread_spin_unlock(&spin);
        if (sem_trywait(&sem)) sem_wait(&sem);
        c++;
        sem_post(&sem);
    }
    return arg;
}

int main(void) {
    pthread_t threads[4];
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    sem_init(&sem, 0, 1);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    assert(a == 500 && b == 2000 && c == 2000);
    struct timespec past = {0, 0};
    pthread_rwlock_rdlock(&rwlock);
    assert(pthread_rwlock_timedwrlock(&rwlock, &past) == ETIMEDOUT);
    assert(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &past) == 0);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_destroy(&rwlock);
    pthread_spin_destroy(&spin);
    sem_destroy(&sem);
    return 0;
}
