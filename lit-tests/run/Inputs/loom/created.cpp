// As examples/loom/queue_freed.c, with std::thread and thrd_create: threads are made all the time, and an order counts what each of
// them does. Some take long to begin: they are many for the processors.
#include "race.h"
#include <thread>
#include <threads.h>
#include <vector>

enum { CONSUMERS = 8 };

static volatile int deleted;

__attribute__((noinline)) static void remove_queue() { deleted = 1; }

__attribute__((noinline)) static void leave() {
  if (deleted)
    failure();
}

static void consume() {
  operation();
  delay();
  leave(); // [last]
}

static int consume_c11(void *) {
  consume();
  return 0;
}

__attribute__((noinline)) static void run_round() {
  deleted = 0;
  std::vector<std::thread> own;
  std::vector<thrd_t> others(CONSUMERS / 2);
  for (int i = 0; i < CONSUMERS / 2; ++i) {
    own.emplace_back(consume);
    must(thrd_create(&others[i], consume_c11, nullptr) == thrd_success, "thrd_create");
  }
  remove_queue(); // [delete]
  for (std::thread &thread : own)
    thread.join();
  for (thrd_t thread : others)
    thrd_join(thread, nullptr);
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, CONSUMERS);
  while (running())
    run_round();
  return finish();
}
