// Functions of the language that are written in C.
#include "machine.h"
#include <string.h>

static struct object *object_in(struct machine *machine, struct value value, enum object_kind kind) {
  if (!is_object(value, kind))
    machine_fail(machine, "a %s is of the wrong kind", kind_name(value));
  return value.as.object;
}

static struct list *list_in(struct machine *machine, struct value value) {
  return (struct list *)object_in(machine, value, LIST);
}

static struct table *table_in(struct machine *machine, struct value value) {
  return (struct table *)object_in(machine, value, TABLE);
}

static struct string *string_in(struct machine *machine, struct value value) {
  return (struct string *)object_in(machine, value, STRING);
}

static size_t place_in(struct machine *machine, struct value value) {
  if (value.kind != NUMBER || value.as.number < 0)
    machine_fail(machine, "this is no place");
  return (size_t)value.as.number;
}

struct string *text_of(struct heap *heap, struct value value) {
  if (value.kind == NUMBER)
    return string_of_number(heap, value.as.number);
  if (is_object(value, STRING))
    return (struct string *)value.as.object;
  const char *text = value.kind == TRUTH ? (value.as.truth ? "true" : "false") : kind_name(value);
  return string_of(heap, text, strlen(text));
}

// len(x): items of a list, entries of a table, bytes of a string.
static struct value len(struct machine *machine, struct value *arguments) {
  if (is_object(arguments[0], LIST))
    return from_number((int64_t)list_in(machine, arguments[0])->count);
  if (is_object(arguments[0], TABLE))
    return from_number((int64_t)table_in(machine, arguments[0])->count);
  return from_number((int64_t)string_in(machine, arguments[0])->length);
}

// push(list, item)
static struct value push_item(struct machine *machine, struct value *arguments) {
  list_push(&machine->heap, list_in(machine, arguments[0]), arguments[1]);
  return nil();
}

// pop(list): the last item, taken away; nil if there is none.
static struct value pop_item(struct machine *machine, struct value *arguments) {
  return list_pop(list_in(machine, arguments[0]));
}

// keys(table)
static struct value keys(struct machine *machine, struct value *arguments) {
  return from_object(&table_keys(&machine->heap, table_in(machine, arguments[0]))->object);
}

// remove(table, key): whether it was there.
static struct value remove_key(struct machine *machine, struct value *arguments) {
  return from_truth(is_key(arguments[1]) && table_remove(table_in(machine, arguments[0]), arguments[1]));
}

// text(x)
static struct value text(struct machine *machine, struct value *arguments) {
  return from_string(text_of(&machine->heap, arguments[0]));
}

// part(string, begin, end)
static struct value part(struct machine *machine, struct value *arguments) {
  size_t begin = place_in(machine, arguments[1]), end = place_in(machine, arguments[2]);
  return from_string(string_part(&machine->heap, string_in(machine, arguments[0]), begin, end));
}

// find(string, part, begin): where it is, or -1.
static struct value find(struct machine *machine, struct value *arguments) {
  struct string *string = string_in(machine, arguments[0]), *wanted = string_in(machine, arguments[1]);
  size_t begin = place_in(machine, arguments[2]);
  return from_number(begin > string->length ? -1 : string_find(string, wanted, begin));
}

// code(string, place): a byte's number; -1 behind the end.
static struct value code(struct machine *machine, struct value *arguments) {
  struct string *string = string_in(machine, arguments[0]);
  size_t place = place_in(machine, arguments[1]);
  return from_number(place < string->length ? (unsigned char)string->text[place] : -1);
}

// join(list of strings, between)
static struct value join(struct machine *machine, struct value *arguments) {
  struct list *list = list_in(machine, arguments[0]);
  struct string *between = string_in(machine, arguments[1]);
  size_t length = 0;
  for (size_t i = 0; i < list->count; ++i)
    length += string_in(machine, list->items[i])->length + between->length;
  char *begin = string_scratch(&machine->heap, length + 1), *end = begin;
  for (size_t i = 0; i < list->count; ++i) {
    const struct string *parts[] = {between, string_in(machine, list->items[i])};
    for (int k = i == 0; k < 2; ++k) {
      memcpy(end, parts[k]->text, parts[k]->length);
      end += parts[k]->length;
    }
  }
  return from_string(string_of(&machine->heap, begin, (size_t)(end - begin)));
}

// fold(list, start, f): f(... f(f(start, list[0]), list[1]) ...)
static struct value fold(struct machine *machine, struct value *arguments) {
  for (int64_t i = 0; i < (int64_t)list_in(machine, arguments[0])->count; ++i) {
    push(machine, arguments[2]);
    push(machine, arguments[1]);
    push(machine, *list_at(list_in(machine, arguments[0]), i));
    arguments[1] = machine_call(machine, 2);
  }
  return arguments[1];
}

void add_builtins(struct machine *machine) {
  static const struct builtin all[] = {
      {"len", 1, len},     {"push", 2, push_item}, {"pop", 1, pop_item}, {"keys", 1, keys}, {"remove", 2, remove_key},
      {"text", 1, text},   {"part", 3, part},      {"find", 3, find},    {"code", 2, code}, {"join", 2, join},
      {"fold", 3, fold},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    machine_set_global(machine, all[i].name, from_builtin(&all[i]));
}
