#include "machine.h"
#include "compiler.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void machine_open(struct machine *machine) {
  heap_open(&machine->heap);
  machine->script = "";
  machine->top = machine->stack;
  machine->frame_count = 0;
  machine_reset(machine);
}

void machine_close(struct machine *machine) { heap_close(&machine->heap); }

void machine_reset(struct machine *machine) {
  machine->globals = table_new(&machine->heap);
  add_builtins(machine);
}

void machine_set_global(struct machine *machine, const char *name, struct value value) {
  table_set(&machine->heap, machine->globals, from_string(string_of(&machine->heap, name, strlen(name))), value);
}

void machine_fail(struct machine *machine, const char *format, ...) {
  char text[200];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (machine->frame_count == 0)
    script_error(machine->script, 0, "%s", text);
  const struct frame *frame = &machine->frames[machine->frame_count - 1];
  const struct function *function = frame->closure->function;
  script_error(machine->script, function->lines[frame->next - function->code - 1], "%s in %s", text, function->name->text);
}

// Closures.

static struct closure *closure_new(struct heap *heap, struct function *function, const struct frame *frame) {
  size_t count = (size_t)function->capture_count;
  struct closure *closure = heap_new_object(heap, sizeof *closure + count * sizeof *closure->captured, CLOSURE);
  closure->function = function;
  closure->count = count;
  for (size_t i = 0; i < count; ++i) {
    struct capture capture = function->captures[i];
    closure->captured[i] = capture.is_local ? frame->base[capture.index] : frame->closure->captured[capture.index];
  }
  return closure;
}

void closure_mark(struct heap *heap, struct closure *closure) {
  heap_mark_object(heap, &closure->function->object);
  for (size_t i = 0; i < closure->count; ++i)
    heap_mark(heap, closure->captured[i]);
}

void closure_free(struct heap *heap, struct closure *closure) {
  heap_resize(heap, closure, sizeof *closure + closure->count * sizeof *closure->captured, 0);
}

// Operations.

static int64_t number_in(struct machine *machine, struct value value) {
  if (value.kind != NUMBER)
    machine_fail(machine, "a %s is no number", kind_name(value));
  return value.as.number;
}

// Numbers are 64 bits, and what does not fit is cut off.
static int64_t arithmetic(struct machine *machine, enum operation operation, struct value left, struct value right) {
  int64_t a = number_in(machine, left), b = number_in(machine, right);
  if (operation == SUBTRACT)
    return (int64_t)((uint64_t)a - (uint64_t)b);
  if (operation == MULTIPLY)
    return (int64_t)((uint64_t)a * (uint64_t)b);
  if (b == 0)
    machine_fail(machine, "division by zero");
  if (b == -1)
    return operation == DIVIDE ? (int64_t)(0 - (uint64_t)a) : 0;
  return operation == DIVIDE ? a / b : a % b;
}

static struct value add(struct machine *machine, struct value a, struct value b) {
  if (a.kind == NUMBER && b.kind == NUMBER)
    return from_number((int64_t)((uint64_t)a.as.number + (uint64_t)b.as.number));
  if (!is_object(a, STRING) || !is_object(b, STRING))
    machine_fail(machine, "a %s and a %s cannot be added", kind_name(a), kind_name(b));
  return from_string(string_concatenate(&machine->heap, (struct string *)a.as.object, (struct string *)b.as.object));
}

// Less than 0, 0 or more, as a is less than b, equal or greater.
static int compare(struct machine *machine, struct value a, struct value b) {
  if (a.kind == NUMBER && b.kind == NUMBER)
    return (a.as.number > b.as.number) - (a.as.number < b.as.number);
  if (!is_object(a, STRING) || !is_object(b, STRING))
    machine_fail(machine, "a %s and a %s cannot be compared", kind_name(a), kind_name(b));
  return string_compare((struct string *)a.as.object, (struct string *)b.as.object);
}

static struct value key_in(struct machine *machine, struct value value) {
  if (!is_key(value))
    machine_fail(machine, "a %s cannot be a key", kind_name(value));
  return value;
}

static struct value *item_place(struct machine *machine, struct value list, struct value index) {
  struct value *place = list_at((struct list *)list.as.object, number_in(machine, index));
  if (!place)
    machine_fail(machine, "the list has no such item");
  return place;
}

static struct value get_index(struct machine *machine, struct value from, struct value index) {
  if (is_object(from, LIST))
    return *item_place(machine, from, index);
  if (!is_object(from, TABLE))
    machine_fail(machine, "a %s has no items", kind_name(from));
  struct value *found = table_find((struct table *)from.as.object, key_in(machine, index));
  return found ? *found : nil();
}

static void set_index(struct machine *machine, struct value in, struct value index, struct value value) {
  if (is_object(in, LIST))
    *item_place(machine, in, index) = value;
  else if (is_object(in, TABLE))
    table_set(&machine->heap, (struct table *)in.as.object, key_in(machine, index), value);
  else
    machine_fail(machine, "a %s has no items", kind_name(in));
}

static struct value get_global(struct machine *machine, struct value name) {
  struct value *found = table_find(machine->globals, name);
  if (!found)
    machine_fail(machine, "no variable %s", ((struct string *)name.as.object)->text);
  return *found;
}

static struct value make_list(struct machine *machine, uint32_t count) {
  struct list *list = list_new(&machine->heap);
  for (const struct value *item = machine->top - count; item < machine->top; ++item)
    list_push(&machine->heap, list, *item);
  machine->top -= count;
  return from_object(&list->object);
}

static void collect_if_due(struct machine *machine) {
  struct heap *heap = &machine->heap;
  if (!heap_is_due(heap))
    return;
  heap_mark_object(heap, &machine->globals->object);
  for (const struct value *value = machine->stack; value < machine->top; ++value)
    heap_mark(heap, *value);
  heap_collect(heap);
}

// Calls.

static void enter(struct machine *machine, struct closure *closure, int count) {
  const struct function *function = closure->function;
  if (count != function->parameters)
    machine_fail(machine, "%s takes %d arguments, not %d", function->name->text, function->parameters, count);
  struct value *base = machine->top - count;
  if (machine->frame_count == MAX_FRAMES || machine->stack + STACK_HEIGHT - base < function->height + BUILTIN_HEIGHT)
    machine_fail(machine, "too many calls");
  machine->frames[machine->frame_count++] = (struct frame){closure, function->code, base};
}

// Puts the result in the place of what was called.
static void leave(struct machine *machine, struct value *base, struct value result) {
  machine->top = base - 1;
  push(machine, result);
}

// A builtin is done afterwards; of a closure the frame is there.
static void begin_call(struct machine *machine, int count) {
  collect_if_due(machine);
  struct value *arguments = machine->top - count, called = arguments[-1];
  if (is_object(called, CLOSURE)) {
    enter(machine, (struct closure *)called.as.object, count);
    return;
  }
  if (called.kind != BUILTIN)
    machine_fail(machine, "a %s cannot be called", kind_name(called));
  if (count != called.as.builtin->parameters)
    machine_fail(machine, "%s takes %d arguments, not %d", called.as.builtin->name, called.as.builtin->parameters, count);
  leave(machine, arguments, called.as.builtin->run(machine, arguments));
}

// Runs until there are no more than so many frames.
static void run(struct machine *machine, int frame_count) {
  while (machine->frame_count > frame_count) {
    struct frame *frame = &machine->frames[machine->frame_count - 1];
    const struct value *constants = frame->closure->function->constants->items;
    uint32_t instruction = *frame->next++, operand = instruction >> OPERATION_BITS;
    enum operation operation = instruction & ((1u << OPERATION_BITS) - 1);
    struct value *top = machine->top;
    switch (operation) {
    case PUSH_CONSTANT: push(machine, constants[operand]); break;
    case PUSH_NIL: push(machine, nil()); break;
    case PUSH_TRUE: push(machine, from_truth(true)); break;
    case PUSH_FALSE: push(machine, from_truth(false)); break;
    case DUPLICATE: push(machine, top[-1]); break;
    case POP: machine->top -= operand; break;
    case GET_LOCAL: push(machine, frame->base[operand]); break;
    case SET_LOCAL: frame->base[operand] = pop(machine); break;
    case GET_CAPTURED: push(machine, frame->closure->captured[operand]); break;
    case GET_GLOBAL: push(machine, get_global(machine, constants[operand])); break;
    case SET_GLOBAL: table_set(&machine->heap, machine->globals, constants[operand], pop(machine)); break;
    case GET_INDEX:
      top[-2] = get_index(machine, top[-2], top[-1]);
      machine->top--;
      break;
    case SET_INDEX:
      set_index(machine, top[-3], top[-2], top[-1]);
      machine->top -= 3;
      break;
    case ADD:
      top[-2] = add(machine, top[-2], top[-1]);
      machine->top--;
      break;
    case SUBTRACT: case MULTIPLY: case DIVIDE: case REMAINDER:
      top[-2] = from_number(arithmetic(machine, operation, top[-2], top[-1]));
      machine->top--;
      break;
    case EQUAL:
      top[-2] = from_truth(are_equal(top[-2], top[-1]));
      machine->top--;
      break;
    case LESS:
      top[-2] = from_truth(compare(machine, top[-2], top[-1]) < 0);
      machine->top--;
      break;
    case LESS_EQUAL:
      top[-2] = from_truth(compare(machine, top[-2], top[-1]) <= 0);
      machine->top--;
      break;
    case NOT: top[-1] = from_truth(!is_true(top[-1])); break;
    case NEGATE: top[-1] = from_number((int64_t)(0 - (uint64_t)number_in(machine, top[-1]))); break;
    case JUMP_BACK:
      collect_if_due(machine);
      frame->next = frame->closure->function->code + operand;
      break;
    case JUMP: frame->next = frame->closure->function->code + operand; break;
    case JUMP_IF_FALSE:
      if (!is_true(pop(machine)))
        frame->next = frame->closure->function->code + operand;
      break;
    case JUMP_OR_POP_IF_FALSE: case JUMP_OR_POP_IF_TRUE:
      if (is_true(top[-1]) == (operation == JUMP_OR_POP_IF_TRUE))
        frame->next = frame->closure->function->code + operand;
      else
        machine->top--;
      break;
    case MAKE_LIST: push(machine, make_list(machine, operand)); break;
    case MAKE_TABLE: push(machine, from_object(&table_new(&machine->heap)->object)); break;
    case MAKE_CLOSURE: {
      struct function *function = (struct function *)constants[operand].as.object;
      push(machine, from_object(&closure_new(&machine->heap, function, frame)->object));
      break;
    }
    case CALL: begin_call(machine, (int)operand); break;
    case RETURN:
      machine->frame_count--;
      leave(machine, frame->base, top[-1]);
      break;
    }
  }
}

struct value machine_call(struct machine *machine, int count) {
  int frame_count = machine->frame_count;
  begin_call(machine, count);
  run(machine, frame_count);
  return pop(machine);
}

struct value machine_run(struct machine *machine, const char *script, const char *text) {
  struct function *function = compile(&machine->heap, script, text);
  machine->script = script;
  push(machine, from_object(&closure_new(&machine->heap, function, NULL)->object));
  return machine_call(machine, 0);
}
