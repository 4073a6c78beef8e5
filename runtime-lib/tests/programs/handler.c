// sem_post from a signal handler, at any moment of hooks in the same thread.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include "hooks.h"

static sem_t sem;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int posted;

static void handler(int signal) {
    int depth = covsched_derived_enter(5000);
    for (int i = 0; i < 20; i++) assert(sem_post(&sem) == 0);
    covsched_derived_leave(depth);
    posted += 20;
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGALRM, &action, 0);
    sem_init(&sem, 0, 0);
    struct itimerval every = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &every, 0);
    int taken = 0;
    while (posted < 20000) {
        int depth = covsched_derived_enter(6000);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        covsched_derived_leave(depth);
        if (sem_trywait(&sem) == 0) taken++;
        if (sem_wait(&sem) == 0) taken++;
        else assert(errno == EINTR);
    }
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_REAL, &every, 0);
    while (sem_trywait(&sem) == 0) taken++;
    assert(taken == posted);
    return 0;
}
