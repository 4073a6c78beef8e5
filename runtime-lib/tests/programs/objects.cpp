// std::thread, std::condition_variable, exceptions through hooks, a once routine that throws.
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <memory>
#include <system_error>
#include <thread>
#include <unistd.h>
#include "hooks.h"
#undef NDEBUG
#include <cassert>

// The functions of libstdc++ that the pass replaces by hooks.
using State = std::unique_ptr<std::thread::_State>;
extern "C" {
void start_thread(std::thread *, State *, void (*)()) __asm__(
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
void join_thread(std::thread *) __asm__("_ZNSt6thread4joinEv");
void detach_thread(std::thread *) __asm__("_ZNSt6thread6detachEv");
void wait_cond(std::condition_variable *, std::unique_lock<std::mutex> *) __asm__(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void notify_one(std::condition_variable *) __asm__("_ZNSt18condition_variable10notify_oneEv");
void notify_all(std::condition_variable *) __asm__("_ZNSt18condition_variable10notify_allEv");
}

static std::mutex guarded;
static std::condition_variable cond;
static int ready, destroyed;

struct Work : std::thread::_State {
    void (*function)();
    explicit Work(void (*f)()) : function(f) {}
    ~Work() override { destroyed++; }
    void _M_run() override {
        int outermost = covsched_thread_enter(300);
        function();
        covsched_thread_exit(outermost, 301);
    }
};

// What std::unique_lock is when its calls are hooks.
struct Held : std::unique_lock<std::mutex> {
    Held() : std::unique_lock<std::mutex>((covsched_pthread_mutex_lock(guarded.native_handle(), __LINE__), guarded),
                                          std::adopt_lock) {}
    ~Held() {
        release();
        covsched_pthread_mutex_unlock(guarded.native_handle(), __LINE__);
    }
};

static void start(std::thread *thread, void (*function)()) {
    State state(new Work(function));
    covsched_std_thread_start(thread, &state, nullptr, (void *)start_thread, __LINE__);
}

static void join(std::thread *thread) { covsched_std_thread_join(thread, (void *)join_thread, __LINE__); }

static void signal_ready() {
    covsched_pthread_mutex_lock(guarded.native_handle(), __LINE__);
    ready++;
    covsched_pthread_mutex_unlock(guarded.native_handle(), __LINE__);
    covsched_std_cond_notify_one(&cond, (void *)notify_one, __LINE__);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int tries;
static void throwing() {
    if (tries++ == 0) throw std::runtime_error("first");
}

static void *waits_for_ever(void *) {
    struct Check {
        ~Check() { assert(covsched_pthread_mutex_trylock(guarded.native_handle(), __LINE__) != 0); }
    };
    Held held;
    Check check;
    for (;;) covsched_std_cond_wait(&cond, static_cast<std::unique_lock<std::mutex> *>(&held), (void *)wait_cond, __LINE__);
}

int main() {
    std::thread thread;
    {
        start(&thread, signal_ready);
        Held held;
        while (!ready) covsched_std_cond_wait(&cond, static_cast<std::unique_lock<std::mutex> *>(&held), (void *)wait_cond, __LINE__);
    }
    join(&thread);
    assert(!thread.joinable() && destroyed == 1);
    start(&thread, signal_ready);
    covsched_std_thread_detach(&thread, (void *)detach_thread, __LINE__);
    {
        Held held;
        while (ready < 2) covsched_std_cond_wait(&cond, static_cast<std::unique_lock<std::mutex> *>(&held), (void *)wait_cond, __LINE__);
    }
    covsched_std_cond_notify_all(&cond, (void *)notify_all, __LINE__);

    int caught = 0;
    try {
        join(&thread);
    } catch (const std::system_error &error) {
        caught += error.code() == std::errc::invalid_argument;
    }
    try {
        pthread_once(&once, throwing);
    } catch (const std::runtime_error &) {
        caught++;
    }
    pthread_once(&once, throwing);
    pthread_once(&once, throwing);
    assert(tries == 2 && caught == 2);

    // A thread that cannot be made: no room for its stack.
    while (destroyed < 2) usleep(100);
    pthread_attr_t usual, huge;
    pthread_getattr_default_np(&usual);
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, 1ul << 46);
    pthread_setattr_default_np(&huge);
    try {
        start(&thread, signal_ready);
    } catch (const std::system_error &error) {
        caught += error.code() == std::errc::resource_unavailable_try_again;
    }
    pthread_setattr_default_np(&usual);
    assert(caught == 3 && !thread.joinable() && destroyed == 3);

    // Cancellation unwinds C++ frames through a condition wait.
    pthread_t waiter;
    void *value;
    pthread_create(&waiter, nullptr, waits_for_ever, nullptr);
    usleep(5000);
    pthread_cancel(waiter);
    pthread_join(waiter, &value);
    assert(value == PTHREAD_CANCELED);
    pthread_mutex_lock(guarded.native_handle());
    pthread_mutex_unlock(guarded.native_handle());
    return 0;
}
