// Cuts a script into tokens.
#ifndef INTERPRETER_LEXER_H
#define INTERPRETER_LEXER_H

#include "value.h"

enum token_kind {
  TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_TEXT,
  // Keywords and signs, in the order of the words in lexer.c.
  TOKEN_LET, TOKEN_FN, TOKEN_IF, TOKEN_ELSE, TOKEN_WHILE, TOKEN_FOR, TOKEN_IN, TOKEN_RETURN,
  TOKEN_AND, TOKEN_OR, TOKEN_NOT, TOKEN_NIL, TOKEN_TRUE, TOKEN_FALSE,
  TOKEN_EQUAL, TOKEN_DIFFERENT, TOKEN_LESS_EQUAL, TOKEN_GREATER_EQUAL, TOKEN_RANGE,
  TOKEN_LESS, TOKEN_GREATER, TOKEN_ASSIGN, TOKEN_DOT, TOKEN_PLUS, TOKEN_MINUS, TOKEN_STAR, TOKEN_SLASH, TOKEN_PERCENT,
  TOKEN_OPEN, TOKEN_CLOSE, TOKEN_OPEN_INDEX, TOKEN_CLOSE_INDEX, TOKEN_OPEN_BLOCK, TOKEN_CLOSE_BLOCK,
  TOKEN_COMMA, TOKEN_SEMICOLON, TOKEN_COLON,
};

struct token {
  enum token_kind kind;
  // Of a text, without its quotes.
  const char *text;
  size_t length;
  int line;
};

struct lexer {
  const char *script, *next;
  int line;
};

void lexer_open(struct lexer *lexer, const char *script, const char *text);
struct token lexer_next(struct lexer *lexer);
// How to write a keyword or sign; what the others are.
const char *token_name(enum token_kind kind);

#endif
