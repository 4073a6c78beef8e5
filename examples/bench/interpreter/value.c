#include "value.h"
#include "interned.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool is_true(struct value value) {
  return value.kind == TRUTH ? value.as.truth : value.kind != NIL;
}

bool are_equal(struct value a, struct value b) {
  if (a.kind != b.kind)
    return false;
  switch (a.kind) {
  case NIL: return true;
  case TRUTH: return a.as.truth == b.as.truth;
  case NUMBER: return a.as.number == b.as.number;
  case BUILTIN: return a.as.builtin == b.as.builtin;
  case OBJECT: return a.as.object == b.as.object;
  }
  abort();
}

bool is_key(struct value value) {
  return value.kind == NUMBER || value.kind == TRUTH || is_object(value, STRING);
}

uint64_t hash_of(struct value value) {
  if (value.kind == OBJECT)
    return ((struct string *)value.as.object)->hash;
  uint64_t bits = value.kind == TRUTH ? value.as.truth : (uint64_t)value.as.number;
  bits *= 0x9e3779b97f4a7c15u;
  return bits ^ bits >> 32;
}

const char *kind_name(struct value value) {
  static const char *const values[] = {"nil", "truth value", "number", "builtin"};
  static const char *const objects[] = {"string", "list", "table", "function", "closure"};
  return value.kind == OBJECT ? objects[value.as.object->kind] : values[value.kind];
}

void script_error(const char *script, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: ", script, line);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  exit(2);
}
