#include "interned.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t hash_text(const char *text, size_t length) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < length; ++i)
    hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
  return hash ^ hash >> 32;
}

// The text's place, or the free one where it would be.
static struct string **find_place(struct string **strings, size_t capacity, const char *text, size_t length, uint64_t hash) {
  for (size_t i = hash & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
    struct string *there = strings[i];
    if (!there || (there->hash == hash && there->length == length && memcmp(there->text, text, length) == 0))
      return &strings[i];
  }
}

// Puts all strings, or those that are marked, into a new array.
static void rehash(struct heap *heap, size_t capacity, bool only_marked) {
  struct string **strings = heap_resize(heap, NULL, 0, capacity * sizeof *strings);
  memset(strings, 0, capacity * sizeof *strings);
  size_t count = 0;
  for (size_t i = 0; i < heap->string_capacity; ++i) {
    struct string *string = heap->strings[i];
    if (string && (string->object.is_marked || !only_marked)) {
      *find_place(strings, capacity, string->text, string->length, string->hash) = string;
      count++;
    }
  }
  heap_resize(heap, heap->strings, heap->string_capacity * sizeof *strings, 0);
  heap->strings = strings;
  heap->string_capacity = capacity;
  heap->string_count = count;
}

void strings_forget_unmarked(struct heap *heap) {
  if (heap->string_count > 0)
    rehash(heap, heap->string_capacity, true);
}

struct string *string_of(struct heap *heap, const char *text, size_t length) {
  if (2 * (heap->string_count + 1) > heap->string_capacity)
    rehash(heap, heap->string_capacity ? 2 * heap->string_capacity : 64, false);
  uint64_t hash = hash_text(text, length);
  struct string **place = find_place(heap->strings, heap->string_capacity, text, length, hash);
  if (!*place) {
    struct string *string = heap_new_object(heap, sizeof *string + length + 1, STRING);
    string->hash = hash;
    string->length = length;
    memcpy(string->text, text, length);
    string->text[length] = 0;
    *place = string;
    heap->string_count++;
  }
  return *place;
}

char *string_scratch(struct heap *heap, size_t bytes) {
  if (bytes > heap->scratch_size) {
    size_t enough = bytes < 128 ? 256 : 2 * bytes;
    heap->scratch = heap_resize(heap, heap->scratch, heap->scratch_size, enough);
    heap->scratch_size = enough;
  }
  return heap->scratch;
}

struct string *string_of_number(struct heap *heap, int64_t number) {
  char text[24];
  int length = snprintf(text, sizeof text, "%" PRId64, number);
  return string_of(heap, text, (size_t)length);
}

struct string *string_concatenate(struct heap *heap, const struct string *a, const struct string *b) {
  char *text = string_scratch(heap, a->length + b->length + 1);
  memcpy(text, a->text, a->length);
  memcpy(text + a->length, b->text, b->length);
  return string_of(heap, text, a->length + b->length);
}

struct string *string_part(struct heap *heap, const struct string *string, size_t begin, size_t end) {
  end = end < string->length ? end : string->length;
  begin = begin < end ? begin : end;
  return string_of(heap, string->text + begin, end - begin);
}

bool string_has_at(const struct string *string, const struct string *part, size_t place) {
  return place + part->length <= string->length && memcmp(string->text + place, part->text, part->length) == 0;
}

int64_t string_find(const struct string *string, const struct string *part, size_t begin) {
  for (size_t i = begin; i + part->length <= string->length; ++i)
    if (string_has_at(string, part, i))
      return (int64_t)i;
  return -1;
}

int string_compare(const struct string *a, const struct string *b) {
  size_t common = a->length < b->length ? a->length : b->length;
  int order = memcmp(a->text, b->text, common);
  return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

void string_free(struct heap *heap, struct string *string) {
  heap_resize(heap, string, sizeof *string + string->length + 1, 0);
}
