// Ways to end: the first argument says which.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "hooks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t ready;
static pthread_key_t key;
static const char *how;

static void touch(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void at_thread_end(void *value) { touch(); }

static void *worker(void *arg) {
    int outermost = covsched_thread_enter(100);
    touch();
    if (!strcmp(how, "worker-exit")) exit(7);
    if (!strcmp(how, "destructor")) {
        pthread_setspecific(key, &key);
        pthread_exit(0);
    }
    sem_post(&ready);
    if (!strcmp(how, "detached")) pthread_detach(pthread_self());
    if (!strcmp(how, "main-pthread-exit")) usleep(20000);
    touch();
    covsched_thread_exit(outermost, 101);
    return 0;
}

int main(int argc, char **argv) {
    how = argv[1];
    pthread_t thread;
    int outermost = covsched_main_enter(200);
    sem_init(&ready, 0, 0);
    pthread_key_create(&key, at_thread_end);
    if (argc > 2) return 0;
    atexit(touch);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (!strcmp(how, "born-detached")) pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &attr, worker, 0);
    if (!strcmp(how, "worker-exit") || !strcmp(how, "destructor")) {
        pthread_join(thread, 0);
        covsched_thread_exit(outermost, 201);
        return 0;
    }
    while (sem_wait(&ready)) {}
    if (!strcmp(how, "kill")) raise(SIGKILL);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "_exit")) _exit(9);
    if (!strcmp(how, "quick_exit")) quick_exit(10);
    if (!strcmp(how, "exec")) execl("/proc/self/exe", argv[0], how, "again", (char *)0);
    if (!strcmp(how, "main-pthread-exit")) pthread_exit(0);
    if (!strcmp(how, "vfork")) {
        pid_t child = vfork();
        if (child == 0) _exit(5);
        int status;
        assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
    }
    usleep(20000);
    covsched_thread_exit(outermost, 202);
    return 0;
}
