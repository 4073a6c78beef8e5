// What the machines run. A script gets the global variables `seed` and `n`.
#ifndef INTERPRETER_SCRIPTS_H
#define INTERPRETER_SCRIPTS_H

#include <stdint.h>

struct script {
  const char *name;
  int64_t n;
  const char *text;
};

#define RANDOM                                                                                                         \
  "fn random(limit) {\n"                                                                                               \
  "  seed = (seed * 1103515245 + 12345) % 2147483648;\n"                                                               \
  "  return seed / 65536 % limit;\n"                                                                                   \
  "}\n"

// Quicksort, with the order as a function.
#define SORT                                                                                                           \
  "fn swap(items, i, j) { let kept = items[i]; items[i] = items[j]; items[j] = kept; }\n"                              \
  "fn partition(items, low, high, less) {\n"                                                                           \
  "  swap(items, (low + high) / 2, high);\n"                                                                           \
  "  let pivot = items[high];\n"                                                                                       \
  "  let place = low;\n"                                                                                               \
  "  for i in low .. high { if less(items[i], pivot) { swap(items, i, place); place = place + 1; } }\n"                \
  "  swap(items, place, high);\n"                                                                                      \
  "  return place;\n"                                                                                                  \
  "}\n"                                                                                                                \
  "fn sort(items, low, high, less) {\n"                                                                                \
  "  while low < high {\n"                                                                                             \
  "    let place = partition(items, low, high, less);\n"                                                               \
  "    sort(items, low, place - 1, less);\n"                                                                           \
  "    low = place + 1;\n"                                                                                             \
  "  }\n"                                                                                                              \
  "}\n"

static const struct script scripts[] = {
    {"sorting", 200,
     RANDOM SORT
     "let items = [];\n"
     "for i in 0 .. n { push(items, random(10000)); }\n"
     "sort(items, 0, n - 1, fn (a, b) { return a < b; });\n"
     "let wrong = 0;\n"
     "for i in 1 .. n { if items[i - 1] > items[i] { wrong = wrong + 1; } }\n"
     "return text(wrong) + ' wrong, sum ' + text(fold(items, 0, fn (sum, item) { return sum * 31 + item; }));\n"},

    {"counting", 300,
     RANDOM SORT
     "let words = ['lock', 'the', 'queue', 'thread', 'waits', 'for', 'a', 'signal', 'and', 'goes', 'on'];\n"
     "let pieces = [];\n"
     "for i in 0 .. n { push(pieces, words[random(len(words))] + text(random(9))); }\n"
     "let story = join(pieces, ' ') + ' ';\n"
     "fn count_words(story) {\n"
     "  let counts = {};\n"
     "  let begin = 0;\n"
     "  let end = find(story, ' ', begin);\n"
     "  while end >= 0 {\n"
     "    let word = part(story, begin, end);\n"
     "    counts[word] = (counts[word] or 0) + 1;\n"
     "    begin = end + 1;\n"
     "    end = find(story, ' ', begin);\n"
     "  }\n"
     "  return counts;\n"
     "}\n"
     "let counts = count_words(story);\n"
     "let names = keys(counts);\n"
     "sort(names, 0, len(names) - 1, fn (a, b) { return counts[a] > counts[b] or counts[a] == counts[b] and a < b; });\n"
     "let lines = [];\n"
     "for i in 0 .. 10 { push(lines, names[i] + ' ' + text(counts[names[i]])); }\n"
     "for i in 0 .. len(names) / 2 { remove(counts, names[i]); }\n"
     "return join(lines, ', ') + ' and ' + text(len(counts)) + ' more';\n"},

    {"matching", 25,
     RANDOM
     "# Patterns with ? for any byte and * for any bytes.\n"
     "fn matches(pattern, p, name, s) {\n"
     "  while p < len(pattern) {\n"
     "    let wanted = code(pattern, p);\n"
     "    if wanted == 42 {\n"
     "      for next in s .. len(name) + 1 { if matches(pattern, p + 1, name, next) { return true; } }\n"
     "      return false;\n"
     "    }\n"
     "    if s >= len(name) or wanted != 63 and wanted != code(name, s) { return false; }\n"
     "    p = p + 1;\n"
     "    s = s + 1;\n"
     "  }\n"
     "  return s == len(name);\n"
     "}\n"
     "fn make_name(length) {\n"
     "  let name = '';\n"
     "  for i in 0 .. length { let at = random(4); name = name + part('abcd', at, at + 1); }\n"
     "  return name;\n"
     "}\n"
     "let patterns = ['a*b', '*c?d*', '?a*a?', '*ab*ba*', 'd*'];\n"
     "let found = [0, 0, 0, 0, 0];\n"
     "for i in 0 .. n {\n"
     "  let name = make_name(6 + random(10));\n"
     "  for k in 0 .. len(patterns) { if matches(patterns[k], 0, name, 0) { found[k] = found[k] + 1; } }\n"
     "}\n"
     "return join([text(found[0]), text(found[1]), text(found[2]), text(found[3]), text(found[4])], ' ');\n"},

    {"recursion", 15,
     "fn fib(n) { if n < 2 { return n; } return fib(n - 1) + fib(n - 2); }\n"
     "fn hanoi(disks, from, to, over) {\n"
     "  if disks == 0 { return 0; }\n"
     "  return hanoi(disks - 1, from, over, to) + 1 + hanoi(disks - 1, over, to, from);\n"
     "}\n"
     "fn ackermann(m, n) {\n"
     "  if m == 0 { return n + 1; }\n"
     "  if n == 0 { return ackermann(m - 1, 1); }\n"
     "  return ackermann(m - 1, ackermann(m, n - 1));\n"
     "}\n"
     "return text(fib(n + seed / 6 % 3)) + ' ' + text(hanoi(n - 6, 1, 2, 3)) + ' ' + text(ackermann(2, n));\n"},

    {"closures", 300,
     RANDOM
     "# Objects are tables of functions, which capture what is theirs.\n"
     "fn make_account(name) {\n"
     "  let state = {balance: 0, moves: 0};\n"
     "  return {\n"
     "    name: name,\n"
     "    deposit: fn (amount) { state.balance = state.balance + amount; state.moves = state.moves + 1; },\n"
     "    withdraw: fn (amount) {\n"
     "      if amount > state.balance { return false; }\n"
     "      state.balance = state.balance - amount;\n"
     "      state.moves = state.moves + 1;\n"
     "      return true;\n"
     "    },\n"
     "    balance: fn () { return state.balance; },\n"
     "    moves: fn () { return state.moves; }\n"
     "  };\n"
     "}\n"
     "fn compose(f, g) { return fn (x) { return f(g(x)); }; }\n"
     "let accounts = [];\n"
     "for i in 0 .. 20 { push(accounts, make_account('account ' + text(i))); accounts[i].deposit(1000); }\n"
     "let refused = 0;\n"
     "for i in 0 .. n {\n"
     "  let payer = accounts[random(20)];\n"
     "  let payee = accounts[random(20)];\n"
     "  let amount = compose(fn (x) { return x * 3; }, fn (x) { return x + 1; })(random(300));\n"
     "  if payer.withdraw(amount) { payee.deposit(amount); } else { refused = refused + 1; }\n"
     "}\n"
     "let total = fold(accounts, 0, fn (sum, account) { return sum + account.balance(); });\n"
     "let moves = fold(accounts, 0, fn (sum, account) { return sum * 7 + account.moves(); });\n"
     "return text(total) + ' in all, ' + text(refused) + ' refused, ' + text(moves);\n"},

    {"trees", 180,
     RANDOM
     "# A search tree of lists [key, left, right], and most of them garbage soon.\n"
     "fn insert(tree, key) {\n"
     "  if tree == nil { return [key, nil, nil]; }\n"
     "  if key < tree[0] { return [tree[0], insert(tree[1], key), tree[2]]; }\n"
     "  if key > tree[0] { return [tree[0], tree[1], insert(tree[2], key)]; }\n"
     "  return tree;\n"
     "}\n"
     "fn walk(tree, visit) {\n"
     "  if tree != nil { walk(tree[1], visit); visit(tree[0]); walk(tree[2], visit); }\n"
     "}\n"
     "fn depth(tree) {\n"
     "  if tree == nil { return 0; }\n"
     "  let left = depth(tree[1]);\n"
     "  let right = depth(tree[2]);\n"
     "  if left > right { return left + 1; }\n"
     "  return right + 1;\n"
     "}\n"
     "let tree = nil;\n"
     "for i in 0 .. n { tree = insert(tree, random(5000)); }\n"
     "let seen = {count: 0, last: -1, sum: 0, ordered: true};\n"
     "walk(tree, fn (key) {\n"
     "  if key <= seen.last { seen.ordered = false; }\n"
     "  seen.last = key;\n"
     "  seen.count = seen.count + 1;\n"
     "  seen.sum = seen.sum * 3 + key;\n"
     "});\n"
     "return text(seen.count) + ' keys, depth ' + text(depth(tree)) + ', ' + text(seen.ordered) + ', ' + text(seen.sum);\n"},
};

enum { SCRIPTS = sizeof scripts / sizeof scripts[0] };

#endif
