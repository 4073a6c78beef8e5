// Compiles a script to bytecode in one pass, by recursive descent.
//
//   script      statement...
//   statement   let NAME = expression ;        a global variable at the script's top, a local one elsewhere
//               fn NAME ( NAME, ... ) block
//               if expression block [else block | else if ...]
//               while expression block
//               for NAME in expression .. expression block
//               return [expression] ;
//               place = expression ;           a place is a name, an item or a field
//               call ;
//   expression  or, and, == !=, < <= > >=, + -, * / %, not -, then calls f(x), items x[i] and fields x.name
//   primary     NUMBER, 'text', nil, true, false, NAME, [x, ...], {name: x, ...}, fn (NAME, ...) block, ( expression )
//
// A function captures locals of those around it by value.
#ifndef INTERPRETER_COMPILER_H
#define INTERPRETER_COMPILER_H

#include "code.h"

// A function without parameters. Nothing may be collected meanwhile.
struct function *compile(struct heap *heap, const char *script, const char *text);

#endif
