// A real coroutine is compiled at every level: its synchronizations are hooked, it has no call markers.
// RUN: %clangxx -std=c++20 -O0 -gline-tables-only -fpass-plugin=%plugin -S -emit-llvm %s -o - | %FileCheck %s
// RUN: %clangxx -std=c++20 -O2 -gline-tables-only -fpass-plugin=%plugin -S -emit-llvm %s -o - | %FileCheck %s
// RUN: env COVSCHED_PASS_OPTIONS='covsched-instrument<verbose>' %clangxx -std=c++20 -gline-tables-only -fpass-plugin=%plugin -c %s -o %t.o 2>&1 | %FileCheck %s --check-prefix=LIMIT
// LIMIT: limits: calls in a coroutine are not shown as callers of synchronizations ({{[0-9]+}}, first:
// CHECK: call i32 @covsched_pthread_mutex_lock({{.*}}, i64
// CHECK: call i32 @covsched_pthread_mutex_unlock({{.*}}, i64
#include <coroutine>
#include <pthread.h>
struct Task {
  std::coroutine_handle<> handle;
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};
void unknown();
pthread_mutex_t m;
Task work() {
  pthread_mutex_lock(&m);
  co_await std::suspend_always{};
  unknown();
  pthread_mutex_unlock(&m);
}
