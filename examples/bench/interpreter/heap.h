// Where a machine's objects are: an allocator that counts bytes, and a mark-and-sweep collector. Nothing is collected
// but when the machine asks for it, and that it does only where everything alive can be reached from it.
#ifndef INTERPRETER_HEAP_H
#define INTERPRETER_HEAP_H

#include "value.h"

struct heap {
  struct object *objects;
  // In use, and how many are reason enough to collect.
  size_t bytes, limit;
  // All strings, by their hash; see interned.c.
  struct string **strings;
  size_t string_count, string_capacity;
  // Text that is about to become a string.
  char *scratch;
  size_t scratch_size;
  // Marked, their children not yet.
  struct object **grey;
  size_t grey_count, grey_capacity;
};

void heap_open(struct heap *heap);
void heap_close(struct heap *heap);

// As `realloc`; 0 bytes frees. Ends the program if there is no memory.
void *heap_resize(struct heap *heap, void *memory, size_t old_size, size_t new_size);
// Twice the capacity of an array.
void *heap_grow(struct heap *heap, void *memory, size_t *capacity, size_t item_size);
void *heap_new_object(struct heap *heap, size_t object_size, enum object_kind kind);

static inline bool heap_is_due(const struct heap *heap) { return heap->bytes >= heap->limit; }

void heap_mark(struct heap *heap, struct value value);
void heap_mark_object(struct heap *heap, struct object *object);
// To be called when the roots are marked.
void heap_collect(struct heap *heap);

#endif
