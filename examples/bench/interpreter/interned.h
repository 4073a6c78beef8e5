// Strings, of bytes. A heap has each text at most once, in a hash table that does not keep it alive.
#ifndef INTERPRETER_INTERNED_H
#define INTERPRETER_INTERNED_H

#include "heap.h"

struct string {
  struct object object;
  uint64_t hash;
  size_t length;
  char text[];
};

struct string *string_of(struct heap *heap, const char *text, size_t length);
struct string *string_of_number(struct heap *heap, int64_t number);
struct string *string_concatenate(struct heap *heap, const struct string *a, const struct string *b);
struct string *string_part(struct heap *heap, const struct string *string, size_t begin, size_t end);
// The first place of `part` at or after `begin`; -1 if there is none.
int64_t string_find(const struct string *string, const struct string *part, size_t begin);
bool string_has_at(const struct string *string, const struct string *part, size_t place);
int string_compare(const struct string *a, const struct string *b);

// Room for text that is about to become a string, until the next call.
char *string_scratch(struct heap *heap, size_t bytes);

void string_free(struct heap *heap, struct string *string);
void strings_forget_unmarked(struct heap *heap);

static inline struct value from_string(struct string *string) { return from_object(&string->object); }

#endif
