// Values of the language: nil, truth values, 64-bit numbers, builtins, and references to objects on a heap. Objects
// begin with a `struct object`. Strings are interned, so that equal ones are the same object.
#ifndef INTERPRETER_VALUE_H
#define INTERPRETER_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum object_kind { STRING, LIST, TABLE, FUNCTION, CLOSURE };

struct object {
  enum object_kind kind;
  bool is_marked;
  struct object *next;
};

enum value_kind { NIL, TRUTH, NUMBER, BUILTIN, OBJECT };

struct value {
  enum value_kind kind;
  union {
    bool truth;
    int64_t number;
    const struct builtin *builtin;
    struct object *object;
  } as;
};

static inline struct value nil(void) { return (struct value){.kind = NIL, .as.number = 0}; }
static inline struct value from_truth(bool truth) { return (struct value){.kind = TRUTH, .as.truth = truth}; }
static inline struct value from_number(int64_t number) { return (struct value){.kind = NUMBER, .as.number = number}; }
static inline struct value from_builtin(const struct builtin *builtin) {
  return (struct value){.kind = BUILTIN, .as.builtin = builtin};
}
static inline struct value from_object(struct object *object) { return (struct value){.kind = OBJECT, .as.object = object}; }

static inline bool is_object(struct value value, enum object_kind kind) {
  return value.kind == OBJECT && value.as.object->kind == kind;
}

// Everything but nil and false.
bool is_true(struct value value);
bool are_equal(struct value a, struct value b);
// Whether it can be a table's key: its hash must not depend on where it is in memory.
bool is_key(struct value value);
uint64_t hash_of(struct value value);
const char *kind_name(struct value value);

// Says what is wrong with a script, and ends the program.
_Noreturn void script_error(const char *script, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
