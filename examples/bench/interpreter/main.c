// An interpreter of a small language: many small functions in several files that call each other all the time, as in
// most large programs. The kernels beside it are single files with few calls, and show nothing of what those cost. Each
// thread has a machine of its own; it takes jobs from a queue, compiles and runs the job's script, and adds what the
// script returned to the results. SIZE is the number of jobs.
//
// value.c       what a value is                    lexer.c      text to tokens
// heap.c        allocation, mark and sweep         compiler.c   tokens to bytecode
// interned.c    strings                            machine.c    runs bytecode
// containers.c  lists and tables                   builtins.c   functions of the language in C, called by pointers
#include "../bench.h"
#include "machine.h"
#include "scripts.h"

struct job {
  long number;
  const struct script *script;
};

static struct OWN_LINES {
  pthread_mutex_t lock;
  long next;
  uint64_t sum;
  size_t bytes;
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool take_job(struct job *job) {
  pthread_mutex_lock(&jobs.lock);
  bool is_there = jobs.next < size;
  if (is_there)
    *job = (struct job){jobs.next, &scripts[jobs.next % SCRIPTS]};
  jobs.next += is_there;
  pthread_mutex_unlock(&jobs.lock);
  return is_there;
}

// In whatever order jobs end, the sum is the same.
static void add_result(long number, const struct string *text) {
  uint64_t state = text->hash + (uint64_t)number;
  uint64_t mixed = next_random(&state);
  pthread_mutex_lock(&jobs.lock);
  jobs.sum += mixed;
  jobs.bytes += text->length;
  pthread_mutex_unlock(&jobs.lock);
}

static void *worker(void *arg) {
  struct machine *machine = allocate(1, sizeof *machine);
  machine_open(machine);
  for (struct job job; take_job(&job);) {
    machine_reset(machine);
    machine_set_global(machine, "seed", from_number(job.number));
    machine_set_global(machine, "n", from_number(job.script->n));
    struct value result = machine_run(machine, job.script->name, job.script->text);
    add_result(job.number, text_of(&machine->heap, result));
  }
  machine_close(machine);
  free(machine);
  return arg;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 1500);
  run_threads(worker);
  printf("interpreter %ld: %zu bytes, %016lx\n", size, jobs.bytes, (unsigned long)jobs.sum);
  return 0;
}
