#include "compiler.h"
#include "containers.h"
#include "lexer.h"

enum { MAX_LOCALS = 64 };

struct local {
  // NULL: of a loop's own.
  struct string *name;
  int block, slot;
};

// A function that is being compiled. `height`: of its part of the stack at this point.
struct unit {
  struct unit *outer;
  struct function *function;
  int block, height, local_count;
  struct local locals[MAX_LOCALS];
};

struct compiler {
  struct heap *heap;
  struct lexer lexer;
  // The next one; the line of the one before it.
  struct token token;
  int line;
  struct unit *unit;
};

static void expression(struct compiler *compiler);
static void block(struct compiler *compiler);

void function_mark(struct heap *heap, struct function *function) {
  heap_mark_object(heap, &function->name->object);
  heap_mark_object(heap, &function->constants->object);
}

void function_free(struct heap *heap, struct function *function) {
  heap_resize(heap, function->code, function->code_capacity * sizeof *function->code, 0);
  heap_resize(heap, function->lines, function->line_capacity * sizeof *function->lines, 0);
  heap_resize(heap, function, sizeof *function, 0);
}

static struct function *function_new(struct heap *heap, struct string *name) {
  struct function *function = heap_new_object(heap, sizeof *function, FUNCTION);
  *function = (struct function){.object = function->object, .name = name};
  function->constants = list_new(heap);
  return function;
}

// Tokens.

static void advance(struct compiler *compiler) {
  compiler->line = compiler->token.line;
  compiler->token = lexer_next(&compiler->lexer);
}

static _Noreturn void fail(struct compiler *compiler, const char *what) {
  script_error(compiler->lexer.script, compiler->token.line, "%s at %s", what, token_name(compiler->token.kind));
}

static bool is_next(const struct compiler *compiler, enum token_kind kind) { return compiler->token.kind == kind; }

static bool accept(struct compiler *compiler, enum token_kind kind) {
  if (!is_next(compiler, kind))
    return false;
  advance(compiler);
  return true;
}

static void expect(struct compiler *compiler, enum token_kind kind) {
  if (!accept(compiler, kind))
    script_error(compiler->lexer.script, compiler->token.line, "expected %s, found %s", token_name(kind),
                 token_name(compiler->token.kind));
}

static struct string *expect_name(struct compiler *compiler) {
  struct token token = compiler->token;
  expect(compiler, TOKEN_NAME);
  return string_of(compiler->heap, token.text, token.length);
}

// Instructions.

static int effect_of(enum operation operation, int operand) {
#define OPERATION_EFFECT(name, effect) effect,
  static const signed char effects[] = {OPERATIONS(OPERATION_EFFECT)};
#undef OPERATION_EFFECT
  bool takes_count = operation == POP || operation == CALL || operation == MAKE_LIST;
  return effects[operation] - (takes_count ? operand : 0);
}

// Gives the instruction's place.
static size_t emit(struct compiler *compiler, enum operation operation, int operand) {
  struct function *function = compiler->unit->function;
  if (function->length == MAX_OPERAND || operand > MAX_OPERAND)
    fail(compiler, "the function is too long");
  if (function->length == function->code_capacity) {
    function->code = heap_grow(compiler->heap, function->code, &function->code_capacity, sizeof *function->code);
    function->lines = heap_grow(compiler->heap, function->lines, &function->line_capacity, sizeof *function->lines);
  }
  compiler->unit->height += effect_of(operation, operand);
  if (compiler->unit->height > function->height)
    function->height = compiler->unit->height;
  function->code[function->length] = (uint32_t)operation | (uint32_t)operand << OPERATION_BITS;
  function->lines[function->length] = compiler->line;
  return function->length++;
}

// Makes the jump at `place` go to the next instruction.
static void land(struct compiler *compiler, size_t place) {
  struct function *function = compiler->unit->function;
  function->code[place] |= (uint32_t)function->length << OPERATION_BITS;
}

static int constant(struct compiler *compiler, struct value value) {
  struct list *constants = compiler->unit->function->constants;
  for (size_t i = 0; i < constants->count; ++i)
    if (are_equal(constants->items[i], value))
      return (int)i;
  list_push(compiler->heap, constants, value);
  return (int)constants->count - 1;
}

static int name_constant(struct compiler *compiler, struct string *name) { return constant(compiler, from_string(name)); }

// Variables.

static bool is_global_scope(const struct compiler *compiler) {
  return !compiler->unit->outer && compiler->unit->block == 0;
}

// What is on top of the stack becomes a local variable.
static void declare_local(struct compiler *compiler, struct string *name) {
  struct unit *unit = compiler->unit;
  if (unit->local_count == MAX_LOCALS)
    fail(compiler, "too many local variables");
  unit->locals[unit->local_count++] = (struct local){name, unit->block, unit->height - 1};
}

static void declare(struct compiler *compiler, struct string *name) {
  if (is_global_scope(compiler))
    emit(compiler, SET_GLOBAL, name_constant(compiler, name));
  else
    declare_local(compiler, name);
}

// A local's slot, or -1.
static int find_local(const struct unit *unit, const struct string *name) {
  for (int i = unit->local_count - 1; i >= 0; --i)
    if (unit->locals[i].name == name)
      return unit->locals[i].slot;
  return -1;
}

// A captured variable's index, or -1.
static int find_captured(struct compiler *compiler, struct unit *unit, const struct string *name) {
  if (!unit->outer)
    return -1;
  int slot = find_local(unit->outer, name);
  struct capture found = {slot >= 0, slot >= 0 ? slot : find_captured(compiler, unit->outer, name)};
  if (found.index < 0)
    return -1;
  struct function *function = unit->function;
  for (int i = 0; i < function->capture_count; ++i)
    if (function->captures[i].is_local == found.is_local && function->captures[i].index == found.index)
      return i;
  if (function->capture_count == MAX_CAPTURES)
    fail(compiler, "too many captured variables");
  function->captures[function->capture_count] = found;
  return function->capture_count++;
}

static void get_variable(struct compiler *compiler, struct string *name) {
  int slot = find_local(compiler->unit, name), captured;
  if (slot >= 0)
    emit(compiler, GET_LOCAL, slot);
  else if ((captured = find_captured(compiler, compiler->unit, name)) >= 0)
    emit(compiler, GET_CAPTURED, captured);
  else
    emit(compiler, GET_GLOBAL, name_constant(compiler, name));
}

static void set_variable(struct compiler *compiler, struct string *name) {
  int slot = find_local(compiler->unit, name);
  if (slot < 0 && find_captured(compiler, compiler->unit, name) >= 0)
    fail(compiler, "a captured variable cannot change");
  if (slot >= 0)
    emit(compiler, SET_LOCAL, slot);
  else
    emit(compiler, SET_GLOBAL, name_constant(compiler, name));
}

static void begin_block(struct compiler *compiler) { compiler->unit->block++; }

static void end_block(struct compiler *compiler) {
  struct unit *unit = compiler->unit;
  int dropped = 0;
  for (; unit->local_count > 0 && unit->locals[unit->local_count - 1].block == unit->block; unit->local_count--)
    dropped++;
  if (dropped > 0)
    emit(compiler, POP, dropped);
  unit->block--;
}

// Expressions.

// From the parameters on.
static void function_body(struct compiler *compiler, struct string *name) {
  struct unit unit = {.outer = compiler->unit, .function = function_new(compiler->heap, name), .block = 1};
  compiler->unit = &unit;
  expect(compiler, TOKEN_OPEN);
  while (!is_next(compiler, TOKEN_CLOSE)) {
    unit.height = unit.function->height = ++unit.function->parameters;
    declare_local(compiler, expect_name(compiler));
    if (!accept(compiler, TOKEN_COMMA))
      break;
  }
  expect(compiler, TOKEN_CLOSE);
  block(compiler);
  emit(compiler, PUSH_NIL, 0);
  emit(compiler, RETURN, 0);
  compiler->unit = unit.outer;
  emit(compiler, MAKE_CLOSURE, constant(compiler, from_object(&unit.function->object)));
}

// Expressions up to `close`; gives how many.
static int sequence(struct compiler *compiler, enum token_kind close) {
  int count = 0;
  while (!is_next(compiler, close)) {
    expression(compiler);
    count++;
    if (!accept(compiler, TOKEN_COMMA))
      break;
  }
  expect(compiler, close);
  return count;
}

static void table_literal(struct compiler *compiler) {
  emit(compiler, MAKE_TABLE, 0);
  while (!is_next(compiler, TOKEN_CLOSE_BLOCK)) {
    emit(compiler, DUPLICATE, 0);
    emit(compiler, PUSH_CONSTANT, name_constant(compiler, expect_name(compiler)));
    expect(compiler, TOKEN_COLON);
    expression(compiler);
    emit(compiler, SET_INDEX, 0);
    if (!accept(compiler, TOKEN_COMMA))
      break;
  }
  expect(compiler, TOKEN_CLOSE_BLOCK);
}

static int64_t number_of(struct compiler *compiler, struct token token) {
  int64_t number = 0;
  for (size_t i = 0; i < token.length; ++i)
    if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, token.text[i] - '0', &number))
      fail(compiler, "a number is too large");
  return number;
}

// All but names, which may be places.
static void primary(struct compiler *compiler) {
  struct token token = compiler->token;
  advance(compiler);
  switch (token.kind) {
  case TOKEN_NUMBER: emit(compiler, PUSH_CONSTANT, constant(compiler, from_number(number_of(compiler, token)))); break;
  case TOKEN_TEXT:
    emit(compiler, PUSH_CONSTANT, name_constant(compiler, string_of(compiler->heap, token.text, token.length)));
    break;
  case TOKEN_NIL: emit(compiler, PUSH_NIL, 0); break;
  case TOKEN_TRUE: emit(compiler, PUSH_TRUE, 0); break;
  case TOKEN_FALSE: emit(compiler, PUSH_FALSE, 0); break;
  case TOKEN_OPEN:
    expression(compiler);
    expect(compiler, TOKEN_CLOSE);
    break;
  case TOKEN_OPEN_INDEX: emit(compiler, MAKE_LIST, sequence(compiler, TOKEN_CLOSE_INDEX)); break;
  case TOKEN_OPEN_BLOCK: table_literal(compiler); break;
  case TOKEN_FN: function_body(compiler, string_of(compiler->heap, "fn", 2)); break;
  default:
    fail(compiler, "expected an expression");
  }
}

// A primary expression with its calls, items and fields. With `may_assign` it may be a place that something is assigned
// to: then this is true, and leaves nothing on the stack.
static bool postfix(struct compiler *compiler, bool may_assign) {
  if (is_next(compiler, TOKEN_NAME)) {
    struct string *name = expect_name(compiler);
    if (may_assign && accept(compiler, TOKEN_ASSIGN)) {
      expression(compiler);
      set_variable(compiler, name);
      return true;
    }
    get_variable(compiler, name);
  } else {
    primary(compiler);
  }
  for (;;) {
    if (accept(compiler, TOKEN_OPEN)) {
      emit(compiler, CALL, sequence(compiler, TOKEN_CLOSE));
      continue;
    }
    if (accept(compiler, TOKEN_DOT)) {
      emit(compiler, PUSH_CONSTANT, name_constant(compiler, expect_name(compiler)));
    } else if (accept(compiler, TOKEN_OPEN_INDEX)) {
      expression(compiler);
      expect(compiler, TOKEN_CLOSE_INDEX);
    } else {
      return false;
    }
    if (may_assign && accept(compiler, TOKEN_ASSIGN)) {
      expression(compiler);
      emit(compiler, SET_INDEX, 0);
      return true;
    }
    emit(compiler, GET_INDEX, 0);
  }
}

static void unary(struct compiler *compiler) {
  enum token_kind sign = compiler->token.kind;
  if (!accept(compiler, TOKEN_MINUS) && !accept(compiler, TOKEN_NOT)) {
    postfix(compiler, false);
    return;
  }
  unary(compiler);
  emit(compiler, sign == TOKEN_MINUS ? NEGATE : NOT, 0);
}

// Signs with two operands: how tightly they bind, their operation, and whether its result is negated.
struct binary_sign {
  int binding;
  enum operation operation;
  bool is_negated;
};

static const struct binary_sign binary_signs[] = {
    [TOKEN_OR] = {1, JUMP_OR_POP_IF_TRUE, false}, [TOKEN_AND] = {2, JUMP_OR_POP_IF_FALSE, false},
    [TOKEN_EQUAL] = {3, EQUAL, false},            [TOKEN_DIFFERENT] = {3, EQUAL, true},
    [TOKEN_LESS] = {4, LESS, false},              [TOKEN_GREATER_EQUAL] = {4, LESS, true},
    [TOKEN_LESS_EQUAL] = {4, LESS_EQUAL, false},  [TOKEN_GREATER] = {4, LESS_EQUAL, true},
    [TOKEN_PLUS] = {5, ADD, false},               [TOKEN_MINUS] = {5, SUBTRACT, false},
    [TOKEN_STAR] = {6, MULTIPLY, false},          [TOKEN_SLASH] = {6, DIVIDE, false},
    [TOKEN_PERCENT] = {6, REMAINDER, false},      [TOKEN_COLON] = {0, 0, false},
};

// Operands and signs that bind tighter than `outside`.
static void binary(struct compiler *compiler, int outside) {
  unary(compiler);
  while (binary_signs[compiler->token.kind].binding > outside) {
    enum token_kind kind = compiler->token.kind;
    struct binary_sign sign = binary_signs[kind];
    bool is_jump = kind == TOKEN_AND || kind == TOKEN_OR;
    advance(compiler);
    size_t short_cut = is_jump ? emit(compiler, sign.operation, 0) : 0;
    binary(compiler, sign.binding);
    if (is_jump)
      land(compiler, short_cut);
    else
      emit(compiler, sign.operation, 0);
    if (sign.is_negated)
      emit(compiler, NOT, 0);
  }
}

static void expression(struct compiler *compiler) { binary(compiler, 0); }

// Statements.

static void if_statement(struct compiler *compiler) {
  expression(compiler);
  size_t otherwise = emit(compiler, JUMP_IF_FALSE, 0);
  block(compiler);
  if (!accept(compiler, TOKEN_ELSE)) {
    land(compiler, otherwise);
    return;
  }
  size_t end = emit(compiler, JUMP, 0);
  land(compiler, otherwise);
  if (accept(compiler, TOKEN_IF))
    if_statement(compiler);
  else
    block(compiler);
  land(compiler, end);
}

static void while_statement(struct compiler *compiler) {
  int start = (int)compiler->unit->function->length;
  expression(compiler);
  size_t end = emit(compiler, JUMP_IF_FALSE, 0);
  block(compiler);
  emit(compiler, JUMP_BACK, start);
  land(compiler, end);
}

static void for_statement(struct compiler *compiler) {
  begin_block(compiler);
  struct string *name = expect_name(compiler);
  expect(compiler, TOKEN_IN);
  expression(compiler);
  declare_local(compiler, name);
  expect(compiler, TOKEN_RANGE);
  expression(compiler);
  declare_local(compiler, NULL);
  int limit = compiler->unit->height - 1, counter = limit - 1, start = (int)compiler->unit->function->length;
  emit(compiler, GET_LOCAL, counter);
  emit(compiler, GET_LOCAL, limit);
  emit(compiler, LESS, 0);
  size_t end = emit(compiler, JUMP_IF_FALSE, 0);
  block(compiler);
  emit(compiler, GET_LOCAL, counter);
  emit(compiler, PUSH_CONSTANT, constant(compiler, from_number(1)));
  emit(compiler, ADD, 0);
  emit(compiler, SET_LOCAL, counter);
  emit(compiler, JUMP_BACK, start);
  land(compiler, end);
  end_block(compiler);
}

static void statement(struct compiler *compiler) {
  if (accept(compiler, TOKEN_IF)) {
    if_statement(compiler);
    return;
  }
  if (accept(compiler, TOKEN_WHILE)) {
    while_statement(compiler);
    return;
  }
  if (accept(compiler, TOKEN_FOR)) {
    for_statement(compiler);
    return;
  }
  if (accept(compiler, TOKEN_FN)) {
    struct string *name = expect_name(compiler);
    function_body(compiler, name);
    declare(compiler, name);
    return;
  }
  if (accept(compiler, TOKEN_LET)) {
    struct string *name = expect_name(compiler);
    expect(compiler, TOKEN_ASSIGN);
    expression(compiler);
    declare(compiler, name);
  } else if (accept(compiler, TOKEN_RETURN)) {
    if (is_next(compiler, TOKEN_SEMICOLON))
      emit(compiler, PUSH_NIL, 0);
    else
      expression(compiler);
    emit(compiler, RETURN, 0);
  } else if (!postfix(compiler, true)) {
    emit(compiler, POP, 1);
  }
  expect(compiler, TOKEN_SEMICOLON);
}

static void block(struct compiler *compiler) {
  begin_block(compiler);
  expect(compiler, TOKEN_OPEN_BLOCK);
  while (!accept(compiler, TOKEN_CLOSE_BLOCK))
    statement(compiler);
  end_block(compiler);
}

struct function *compile(struct heap *heap, const char *script, const char *text) {
  struct unit unit = {.function = function_new(heap, string_of(heap, "script", 6))};
  struct compiler compiler = {.heap = heap, .unit = &unit};
  lexer_open(&compiler.lexer, script, text);
  advance(&compiler);
  while (!is_next(&compiler, TOKEN_END))
    statement(&compiler);
  emit(&compiler, PUSH_NIL, 0);
  emit(&compiler, RETURN, 0);
  return unit.function;
}
