#include "containers.h"

struct list *list_new(struct heap *heap) {
  struct list *list = heap_new_object(heap, sizeof *list, LIST);
  list->count = list->capacity = 0;
  list->items = NULL;
  return list;
}

void list_push(struct heap *heap, struct list *list, struct value value) {
  if (list->count == list->capacity)
    list->items = heap_grow(heap, list->items, &list->capacity, sizeof *list->items);
  list->items[list->count++] = value;
}

struct value list_pop(struct list *list) {
  return list->count > 0 ? list->items[--list->count] : nil();
}

struct value *list_at(struct list *list, int64_t index) {
  return index >= 0 && (uint64_t)index < list->count ? &list->items[index] : NULL;
}

void list_mark(struct heap *heap, struct list *list) {
  for (size_t i = 0; i < list->count; ++i)
    heap_mark(heap, list->items[i]);
}

void list_free(struct heap *heap, struct list *list) {
  heap_resize(heap, list->items, list->capacity * sizeof *list->items, 0);
  heap_resize(heap, list, sizeof *list, 0);
}

struct table *table_new(struct heap *heap) {
  struct table *table = heap_new_object(heap, sizeof *table, TABLE);
  table->count = table->used = table->capacity = 0;
  table->entries = NULL;
  return table;
}

// The key's entry, or the free place where it would be. There always is one.
static struct entry *find_entry(struct entry *entries, size_t capacity, struct value key) {
  struct entry *removed = NULL;
  for (size_t i = hash_of(key) & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
    struct entry *entry = &entries[i];
    if (entry->key.kind == NIL) {
      if (!is_true(entry->value))
        return removed ? removed : entry;
      if (!removed)
        removed = entry;
    } else if (are_equal(entry->key, key)) {
      return entry;
    }
  }
}

static void rehash(struct heap *heap, struct table *table) {
  size_t capacity = 8;
  while (capacity < 4 * table->count)
    capacity *= 2;
  struct entry *entries = heap_resize(heap, NULL, 0, capacity * sizeof *entries);
  for (size_t i = 0; i < capacity; ++i)
    entries[i] = (struct entry){nil(), nil()};
  for (size_t i = 0; i < table->capacity; ++i)
    if (table->entries[i].key.kind != NIL)
      *find_entry(entries, capacity, table->entries[i].key) = table->entries[i];
  heap_resize(heap, table->entries, table->capacity * sizeof *entries, 0);
  table->entries = entries;
  table->capacity = capacity;
  table->used = table->count;
}

struct value *table_find(struct table *table, struct value key) {
  if (table->count == 0)
    return NULL;
  struct entry *entry = find_entry(table->entries, table->capacity, key);
  return entry->key.kind == NIL ? NULL : &entry->value;
}

void table_set(struct heap *heap, struct table *table, struct value key, struct value value) {
  struct value *there = table_find(table, key);
  if (there) {
    *there = value;
    return;
  }
  if (4 * (table->used + 1) > 3 * table->capacity)
    rehash(heap, table);
  struct entry *entry = find_entry(table->entries, table->capacity, key);
  if (!is_true(entry->value))
    table->used++;
  table->count++;
  *entry = (struct entry){key, value};
}

bool table_remove(struct table *table, struct value key) {
  if (!table_find(table, key))
    return false;
  *find_entry(table->entries, table->capacity, key) = (struct entry){nil(), from_truth(true)};
  table->count--;
  return true;
}

struct list *table_keys(struct heap *heap, const struct table *table) {
  struct list *keys = list_new(heap);
  for (size_t i = 0; i < table->capacity; ++i)
    if (table->entries[i].key.kind != NIL)
      list_push(heap, keys, table->entries[i].key);
  return keys;
}

void table_mark(struct heap *heap, struct table *table) {
  for (size_t i = 0; i < table->capacity; ++i) {
    heap_mark(heap, table->entries[i].key);
    heap_mark(heap, table->entries[i].value);
  }
}

void table_free(struct heap *heap, struct table *table) {
  heap_resize(heap, table->entries, table->capacity * sizeof *table->entries, 0);
  heap_resize(heap, table, sizeof *table, 0);
}
