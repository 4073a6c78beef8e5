#include "lexer.h"
#include <string.h>

// Longer signs stand before those that they begin with.
static const char *const words[] = {
    "end",  "name", "number", "text", "let",  "fn",  "if",   "else",  "while", "for", "in", "return", "and", "or", "not",
    "nil",  "true", "false",  "==",   "!=",   "<=",  ">=",   "..",    "<",     ">",   "=",  ".",      "+",   "-",  "*",
    "/",    "%",    "(",      ")",    "[",    "]",   "{",    "}",     ",",     ";",   ":",
};

const char *token_name(enum token_kind kind) { return words[kind]; }

void lexer_open(struct lexer *lexer, const char *script, const char *text) {
  *lexer = (struct lexer){.script = script, .next = text, .line = 1};
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static void skip_space(struct lexer *lexer) {
  for (;; ++lexer->next) {
    if (*lexer->next == '#')
      lexer->next += strcspn(lexer->next, "\n");
    if (*lexer->next == '\n')
      lexer->line++;
    else if (*lexer->next != ' ')
      return;
  }
}

// The token from `text` to where the lexer is.
static struct token token_from(const struct lexer *lexer, enum token_kind kind, const char *text) {
  return (struct token){kind, text, (size_t)(lexer->next - text), lexer->line};
}

static struct token word(struct lexer *lexer) {
  const char *text = lexer->next;
  while (is_letter(*lexer->next) || is_digit(*lexer->next))
    ++lexer->next;
  struct token token = token_from(lexer, TOKEN_NAME, text);
  for (enum token_kind kind = TOKEN_LET; kind <= TOKEN_FALSE; ++kind)
    if (strlen(words[kind]) == token.length && memcmp(words[kind], text, token.length) == 0)
      token.kind = kind;
  return token;
}

static struct token number(struct lexer *lexer) {
  const char *text = lexer->next;
  while (is_digit(*lexer->next))
    ++lexer->next;
  return token_from(lexer, TOKEN_NUMBER, text);
}

static struct token quoted(struct lexer *lexer) {
  const char *text = ++lexer->next;
  lexer->next += strcspn(text, "'\n");
  if (*lexer->next != '\'')
    script_error(lexer->script, lexer->line, "a text does not end");
  struct token token = token_from(lexer, TOKEN_TEXT, text);
  ++lexer->next;
  return token;
}

static struct token sign(struct lexer *lexer) {
  const char *text = lexer->next;
  for (enum token_kind kind = TOKEN_EQUAL; kind <= TOKEN_COLON; ++kind) {
    size_t length = strlen(words[kind]);
    if (strncmp(text, words[kind], length) == 0) {
      lexer->next += length;
      return token_from(lexer, kind, text);
    }
  }
  script_error(lexer->script, lexer->line, "unknown sign %c", *text);
}

struct token lexer_next(struct lexer *lexer) {
  skip_space(lexer);
  if (*lexer->next == 0)
    return token_from(lexer, TOKEN_END, lexer->next);
  if (is_letter(*lexer->next))
    return word(lexer);
  if (is_digit(*lexer->next))
    return number(lexer);
  return *lexer->next == '\'' ? quoted(lexer) : sign(lexer);
}
