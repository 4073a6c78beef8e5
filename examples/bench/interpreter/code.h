// Bytecode for a machine with a stack. An instruction is 32 bits: an operation, and above it 24 bits of operand.
#ifndef INTERPRETER_CODE_H
#define INTERPRETER_CODE_H

#include "interned.h"

// Operation, and by how much it changes the stack's height; those whose operand is a count take so many more.
#define OPERATIONS(X)                                                                                                  \
  X(PUSH_CONSTANT, 1) X(PUSH_NIL, 1) X(PUSH_TRUE, 1) X(PUSH_FALSE, 1) X(DUPLICATE, 1) X(POP, 0)                        \
  X(GET_LOCAL, 1) X(SET_LOCAL, -1) X(GET_CAPTURED, 1) X(GET_GLOBAL, 1) X(SET_GLOBAL, -1)                               \
  X(GET_INDEX, -1) X(SET_INDEX, -3)                                                                                    \
  X(ADD, -1) X(SUBTRACT, -1) X(MULTIPLY, -1) X(DIVIDE, -1) X(REMAINDER, -1)                                            \
  X(EQUAL, -1) X(LESS, -1) X(LESS_EQUAL, -1) X(NOT, 0) X(NEGATE, 0)                                                    \
  X(JUMP, 0) X(JUMP_BACK, 0) X(JUMP_IF_FALSE, -1) X(JUMP_OR_POP_IF_FALSE, -1) X(JUMP_OR_POP_IF_TRUE, -1)               \
  X(MAKE_LIST, 1) X(MAKE_TABLE, 1) X(MAKE_CLOSURE, 1) X(CALL, 0) X(RETURN, -1)

#define OPERATION_NAME(name, effect) name,
enum operation { OPERATIONS(OPERATION_NAME) };
#undef OPERATION_NAME

enum { OPERATION_BITS = 8, MAX_OPERAND = (1 << 24) - 1, MAX_CAPTURES = 32 };

// A variable of the function around, as it is when the closure is made: one of its locals, or one that it captured.
struct capture {
  bool is_local;
  int index;
};

struct function {
  struct object object;
  struct string *name;
  int parameters;
  // How high its part of the stack gets, parameters included.
  int height;
  int capture_count;
  struct capture captures[MAX_CAPTURES];
  // Instructions and the lines they come from.
  size_t length, code_capacity, line_capacity;
  uint32_t *code;
  int *lines;
  struct list *constants;
};

struct closure {
  struct object object;
  struct function *function;
  size_t count;
  struct value captured[];
};

// compiler.c
void function_mark(struct heap *heap, struct function *function);
void function_free(struct heap *heap, struct function *function);
// machine.c
void closure_mark(struct heap *heap, struct closure *closure);
void closure_free(struct heap *heap, struct closure *closure);

#endif
