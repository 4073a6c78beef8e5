// Lists, and tables: hash tables from numbers, truth values and strings to anything.
#ifndef INTERPRETER_CONTAINERS_H
#define INTERPRETER_CONTAINERS_H

#include "heap.h"

struct list {
  struct object object;
  size_t count, capacity;
  struct value *items;
};

struct list *list_new(struct heap *heap);
void list_push(struct heap *heap, struct list *list, struct value value);
struct value list_pop(struct list *list);
// An item's place; NULL if the list has no such item.
struct value *list_at(struct list *list, int64_t index);
void list_mark(struct heap *heap, struct list *list);
void list_free(struct heap *heap, struct list *list);

// Open addressing. A free place has the key nil; with the value true it had an entry once, and a search goes on.
struct entry {
  struct value key, value;
};

struct table {
  struct object object;
  // Entries; places that are not free or had an entry once.
  size_t count, used, capacity;
  struct entry *entries;
};

struct table *table_new(struct heap *heap);
// A key's value; NULL if it has none.
struct value *table_find(struct table *table, struct value key);
void table_set(struct heap *heap, struct table *table, struct value key, struct value value);
bool table_remove(struct table *table, struct value key);
struct list *table_keys(struct heap *heap, const struct table *table);
void table_mark(struct heap *heap, struct table *table);
void table_free(struct heap *heap, struct table *table);

#endif
