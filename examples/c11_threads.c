// C11 threads: thrd_*, mtx_*, cnd_* and call_once. Results in the schedule are errno values (0, EBUSY 16,
// ETIMEDOUT 110), whatever thrd_busy and thrd_timedout are.
//
//   covsched cc -O2 -pthread c11_threads.c -o c11_threads
//   covsched record -o c11.sched -- ./c11_threads && covsched show c11.sched
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t lock, timed;
static cnd_t ready, done;
static once_flag once = ONCE_FLAG_INIT;
static int is_ready, finished, made, count;

static void make(void) { made++; }

static int worker(void *arg) {
  call_once(&once, make); // SCHED: call_once x2
  mtx_lock(&lock);        // SCHED: mtx_lock x2
  while (!is_ready)
    cnd_wait(&ready, &lock); // SCHED: cnd_wait x0+
  count += *(int *)arg;
  mtx_unlock(&lock); // SCHED: mtx_unlock x2
  return *(int *)arg;
}

static int tries(void *arg) {
  struct timespec at;
  int *results = arg;
  results[0] = mtx_trylock(&timed) == thrd_busy; // SCHED: mtx_trylock x1 = 16
  timespec_get(&at, TIME_UTC);
  results[1] = mtx_timedlock(&timed, &at) == thrd_timedout; // SCHED: mtx_timedlock x1 = 110
  mtx_lock(&lock);                                          // SCHED: mtx_lock x1
  int result = thrd_success;
  while (result == thrd_success)
    result = cnd_timedwait(&ready, &lock, &at); // SCHED: cnd_timedwait x1+
  results[2] = result == thrd_timedout;
  mtx_unlock(&lock); // SCHED: mtx_unlock x1
  thrd_exit(12);     // SCHED: thrd_exit x1
}

static int detached(void *arg) {
  mtx_lock(&lock); // SCHED: mtx_lock x1
  finished = 1;
  cnd_signal(&done); // SCHED: cnd_signal x1
  mtx_unlock(&lock); // SCHED: mtx_unlock x1
  (void)arg;
  return 0;
}

int main(void) {
  thrd_t workers[2], trier, alone;
  int numbers[2] = {1, 2}, results[3] = {0}, sum = 0, value;
  mtx_init(&lock, mtx_plain);  // SCHED: mtx_init x1
  mtx_init(&timed, mtx_timed); // SCHED: mtx_init x1
  cnd_init(&ready);            // SCHED: cnd_init x1
  cnd_init(&done);             // SCHED: cnd_init x1

  mtx_lock(&timed);                    // SCHED: mtx_lock x1
  thrd_create(&trier, tries, results); // SCHED: thrd_create x1
  thrd_join(trier, &value);            // SCHED: thrd_join x1
  mtx_unlock(&timed);                  // SCHED: mtx_unlock x1
  printf("busy %d, timed out %d %d, exit value %d\n", results[0], results[1], results[2], value);

  for (int i = 0; i < 2; ++i)
    thrd_create(&workers[i], worker, &numbers[i]); // SCHED: thrd_create x2
  mtx_lock(&lock);                                 // SCHED: mtx_lock x1
  is_ready = 1;
  cnd_broadcast(&ready); // SCHED: cnd_broadcast x1
  mtx_unlock(&lock);     // SCHED: mtx_unlock x1
  for (int i = 0; i < 2; ++i) {
    thrd_join(workers[i], &value); // SCHED: thrd_join x2
    sum += value;
  }

  mtx_lock(&lock);                     // SCHED: mtx_lock x1
  thrd_create(&alone, detached, NULL); // SCHED: thrd_create x1
  thrd_detach(alone);                  // SCHED: thrd_detach x1
  while (!finished)
    cnd_wait(&done, &lock); // SCHED: cnd_wait x1+
  mtx_unlock(&lock);        // SCHED: mtx_unlock x1
  cnd_destroy(&ready);      // SCHED: cnd_destroy x1
  mtx_destroy(&timed);      // SCHED: mtx_destroy x1
  printf("count %d, sum %d, made %d\n", count, sum, made);
  return 0;
}
