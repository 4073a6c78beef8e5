#include "heap.h"
#include "code.h"
#include "containers.h"
#include "interned.h"
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_LIMIT = 1 << 17, FIRST_CAPACITY = 8 };

void heap_open(struct heap *heap) {
  *heap = (struct heap){.limit = FIRST_LIMIT};
}

void *heap_resize(struct heap *heap, void *memory, size_t old_size, size_t new_size) {
  heap->bytes += new_size - old_size;
  if (new_size == 0) {
    free(memory);
    return NULL;
  }
  void *result = realloc(memory, new_size);
  if (!result) {
    perror("realloc");
    exit(2);
  }
  return result;
}

void *heap_grow(struct heap *heap, void *memory, size_t *capacity, size_t item_size) {
  size_t old = *capacity;
  *capacity = old ? 2 * old : FIRST_CAPACITY;
  return heap_resize(heap, memory, old * item_size, *capacity * item_size);
}

void *heap_new_object(struct heap *heap, size_t object_size, enum object_kind kind) {
  struct object *object = heap_resize(heap, NULL, 0, object_size);
  *object = (struct object){.kind = kind, .next = heap->objects};
  heap->objects = object;
  return object;
}

void heap_mark_object(struct heap *heap, struct object *object) {
  if (!object || object->is_marked)
    return;
  object->is_marked = true;
  if (object->kind == STRING)
    return;
  if (heap->grey_count == heap->grey_capacity)
    heap->grey = heap_grow(heap, heap->grey, &heap->grey_capacity, sizeof *heap->grey);
  heap->grey[heap->grey_count++] = object;
}

void heap_mark(struct heap *heap, struct value value) {
  if (value.kind == OBJECT)
    heap_mark_object(heap, value.as.object);
}

static void mark_children(struct heap *heap, struct object *object) {
  switch (object->kind) {
  case STRING: break;
  case LIST: list_mark(heap, (struct list *)object); break;
  case TABLE: table_mark(heap, (struct table *)object); break;
  case FUNCTION: function_mark(heap, (struct function *)object); break;
  case CLOSURE: closure_mark(heap, (struct closure *)object); break;
  }
}

static void free_object(struct heap *heap, struct object *object) {
  switch (object->kind) {
  case STRING: string_free(heap, (struct string *)object); break;
  case LIST: list_free(heap, (struct list *)object); break;
  case TABLE: table_free(heap, (struct table *)object); break;
  case FUNCTION: function_free(heap, (struct function *)object); break;
  case CLOSURE: closure_free(heap, (struct closure *)object); break;
  }
}

static void sweep(struct heap *heap) {
  struct object **link = &heap->objects;
  while (*link) {
    struct object *object = *link;
    if (object->is_marked) {
      object->is_marked = false;
      link = &object->next;
    } else {
      *link = object->next;
      free_object(heap, object);
    }
  }
}

void heap_collect(struct heap *heap) {
  while (heap->grey_count > 0)
    mark_children(heap, heap->grey[--heap->grey_count]);
  strings_forget_unmarked(heap);
  sweep(heap);
  heap->limit = heap->bytes < FIRST_LIMIT / 2 ? FIRST_LIMIT : 2 * heap->bytes;
}

void heap_close(struct heap *heap) {
  heap_collect(heap);
  heap_resize(heap, heap->strings, heap->string_capacity * sizeof *heap->strings, 0);
  heap_resize(heap, heap->scratch, heap->scratch_size, 0);
  heap_resize(heap, heap->grey, heap->grey_capacity * sizeof *heap->grey, 0);
  if (heap->bytes != 0)
    abort();
}
