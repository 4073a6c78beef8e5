// A thread whose log cannot grow (no file can be opened) loses records; the threads that go on in its log after
// that do not.
#include <pthread.h>
#include <sys/resource.h>
#include "hooks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void use_other(void) {
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
}

static void *loses(void *arg) {
    struct rlimit old, none;
    getrlimit(RLIMIT_NOFILE, &old);
    none = old;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    for (int i = 0; i < 5000; ++i) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    use_other();
    setrlimit(RLIMIT_NOFILE, &old);
    return arg;
}

static void *does_not(void *arg) {
    use_other();
    use_other();
    return arg;
}

int main(void) {
    void *(*functions[])(void *) = {loses, does_not, does_not};
    for (int i = 0; i < 3; ++i) {
        pthread_t thread;
        pthread_create(&thread, 0, functions[i], 0);
        pthread_join(thread, 0);
    }
    return 0;
}
