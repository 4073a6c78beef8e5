// Runs bytecode. Each thread has a machine of its own; machines share nothing that changes.
#ifndef INTERPRETER_MACHINE_H
#define INTERPRETER_MACHINE_H

#include "code.h"
#include "containers.h"

enum { STACK_HEIGHT = 1 << 14, MAX_FRAMES = 1 << 10, BUILTIN_HEIGHT = 8 };

struct frame {
  struct closure *closure;
  const uint32_t *next;
  // Its part of the stack: parameters, other locals, intermediate results. Below it is what was called.
  struct value *base;
};

struct machine {
  struct heap heap;
  const char *script;
  struct table *globals;
  struct value *top;
  int frame_count;
  struct frame frames[MAX_FRAMES];
  struct value stack[STACK_HEIGHT];
};

// A function that is written in C. It may have up to BUILTIN_HEIGHT values on the stack, to call functions with.
struct builtin {
  const char *name;
  int parameters;
  struct value (*run)(struct machine *machine, struct value *arguments);
};

void machine_open(struct machine *machine);
void machine_close(struct machine *machine);

// Forgets the globals; the builtins are back.
void machine_reset(struct machine *machine);
void machine_set_global(struct machine *machine, const char *name, struct value value);
// What the script returns. It is alive until the next call.
struct value machine_run(struct machine *machine, const char *script, const char *text);

// For builtins. Calls what was pushed before its `count` arguments, and takes all of them from the stack. Meanwhile only
// what can be reached from the stack and from globals is alive.
struct value machine_call(struct machine *machine, int count);
_Noreturn void machine_fail(struct machine *machine, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void push(struct machine *machine, struct value value) { *machine->top++ = value; }
static inline struct value pop(struct machine *machine) { return *--machine->top; }

// builtins.c
void add_builtins(struct machine *machine);
struct string *text_of(struct heap *heap, struct value value);

#endif
