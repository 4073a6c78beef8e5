//! Compiled programs: what their tables say, and whether lines still do what they say. Slots are where the pass would put
//! them; the pass itself has its tests elsewhere.

use super::describe::originals_of;
use super::graph::{build, Lines, Places, Texts};
use crate::bitcode::read;
use covsched_core::loom::moved::{reasons, Reason, Scope};
use covsched_core::loom::table::{AccessKind, Function, Precision, UnitTable};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What clang makes of a program.
fn compile(source: &str, options: &[&str]) -> Vec<u8> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("covsched-tell-{}-{number}.c", std::process::id()));
    std::fs::write(&path, source).unwrap();
    let made = Command::new("clang-16")
        .args(["-g", "-S", "-emit-llvm", "-o", "-"])
        .args(options)
        .arg(&path)
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    made.stdout
}

/// A unit's table after optimization.
fn table(source: &str) -> UnitTable {
    let mut texts = Texts::default();
    // The file has another name each time.
    let named = format!("# 1 \"test.c\"\n{source}");
    let after = read("after", &compile(&named, &["-O2"])).unwrap();
    let mut functions = Vec::new();
    for facts in after.module().functions().iter().filter(|facts| facts.has_body()) {
        let name = texts.text(&facts.name);
        let blocks = facts.function.slow_path(true);
        let graph = build(&mut texts, &mut Places::new(name), &blocks, Lines::AsSlots, &[]);
        functions.push(Function {
            name,
            id: 0,
            file: 0,
            line: 0,
            internal: facts.internal,
            address_taken: false,
            shape: 0,
            limit: String::new(),
            points: graph.points,
            variables: vec![],
            accesses: graph.accesses,
        });
    }
    let before = read("before", &compile(&named, &["-O2", "-Xclang", "-disable-llvm-passes"])).unwrap();
    let original = Some(originals_of(before.module(), &mut texts));
    let Texts { strings, chains, .. } = texts;
    UnitTable {
        unit: "test.c".into(),
        precision: Precision::Late,
        is_for_lto: false,
        strings,
        chains,
        functions,
        taken: vec![],
        original,
    }
}

/// The line that has this comment.
fn line(source: &str, mark: &str) -> u32 {
    let mark = format!("// {mark}");
    let at = source.lines().position(|line| line.ends_with(&mark));
    at.unwrap_or_else(|| panic!("no line with {mark}")) as u32 + 1
}

fn asked(table: &UnitTable, scope: Scope<'_>) -> Vec<String> {
    let all: Vec<usize> = (0..table.functions.len()).collect();
    let found = reasons(table, Scope { functions: &all, ..scope });
    found.iter().map(Reason::to_string).collect()
}

fn region(table: &UnitTable, first: u32, last: u32) -> Vec<String> {
    let file = table.strings.iter().position(|text| text.ends_with("/test.c")).unwrap() as u32;
    asked(table, Scope { range: Some((file, first, last)), ..Scope::default() })
}

fn function(table: &UnitTable, name: &str) -> Vec<String> {
    let name = table.strings.iter().position(|text| text == name).unwrap() as u32;
    asked(table, Scope { function: Some(name), ..Scope::default() })
}

const LOOPS: &str = "\
int counter, array[1024], flags[64];
void other(int);
void count(int n) {
  for (int i = 0; i < n; ++i)
    counter++; // register
}
void fill(int n) {
  for (int i = 0; i < n; ++i)
    array[i] = i * 3; // vector
}
void clear(void) {
  for (int i = 0; i < 1024; ++i)
    array[i] = 0; // memset
}
void each(int n) {
  for (int i = 0; i < n; ++i) {
    counter++; // stays
    other(i); // call
  }
}
void few(void) {
  for (int i = 0; i < 3; ++i) {
    flags[i * 7]++; // unrolled
    other(i);
  }
}
";

#[test]
fn a_counter_in_a_register_protects_nothing() {
    let table = table(LOOPS);
    let at = line(LOOPS, "register");
    let found = region(&table, at, at);
    assert!(found.iter().any(|why| why.contains("counter at test.c:5")), "{found:?}");
}

#[test]
fn vectors_and_blocks_of_memory_are_not_what_the_line_says() {
    let table = table(LOOPS);
    let at = line(LOOPS, "vector");
    let found = region(&table, at, at);
    assert!(found.iter().any(|why| why.contains("for several elements at once")), "{found:?}");
    let at = line(LOOPS, "memset");
    assert!(!region(&table, at, at).is_empty());
}

#[test]
fn loops_with_calls_and_unrolled_ones_do_what_they_say() {
    let table = table(LOOPS);
    for mark in ["stays", "call", "unrolled"] {
        let at = line(LOOPS, mark);
        assert_eq!(region(&table, at, at), [""; 0], "{mark}");
    }
    assert_eq!(region(&table, line(LOOPS, "stays"), line(LOOPS, "call")), [""; 0]);
    assert_eq!(function(&table, "each"), [""; 0]);
}

const QUEUE: &str = "\
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
struct item { struct item *next; int key; char name[32]; };
struct queue { struct item *head, *tail; int count, limit; long total; pthread_mutex_t lock; };
struct queue *shared;
int log_fd, is_open;
static FILE *log_file;
extern int write_log(int, const char *);
extern int open_log(const char *);
extern void close_log(int);

static int is_full(struct queue *q) {
  return q->count >= q->limit; // full
}
static void append(struct queue *q, struct item *it) {
  it->next = 0; // next
  if (q->tail) // tail
    q->tail->next = it;
  else
    q->head = it;
  q->tail = it; // set
  q->count++; // count
}
int put(struct queue *q, int key, const char *name) {
  struct item *it = malloc(sizeof *it); // malloc
  if (!it)
    return -1;
  it->key = key;
  strncpy(it->name, name, sizeof it->name - 1);
  it->name[31] = 0;
  pthread_mutex_lock(&q->lock); // lock
  if (is_full(q)) { // check
    pthread_mutex_unlock(&q->lock);
    free(it); // free
    return 0;
  }
  append(q, it); // append
  q->total += key; // total
  pthread_mutex_unlock(&q->lock); // unlock
  return 1;
}
int take(struct queue *q, int *key) {
  int got = 0;
  struct item *it = q->head; // head
  if (it) {
    q->head = it->next; // advance
    if (!q->head)
      q->tail = 0; // empty
    q->count--; // less
    *key = it->key; // key
    got = 1;
    free(it); // release
  }
  return got;
}
void rotate(const char *path) {
  close_log(log_fd); // close
  is_open = 0;
  log_fd = open_log(path); // open
  is_open = 1; // opened
}
int say(const char *text) {
  if (!is_open) // is open
    return -1;
  return write_log(log_fd, text); // write
}
void drop(int *references, void *object) {
  --*references; // decrement
  if (*references == 0) // zero
    free(object); // destroy
}
int stale(struct queue *q) {
  int before = q->count; // first read
  if (q->count > 0) // second read
    q->count = 0; // store
  return before;
}
double finish, start;
void report(void) {
  printf(\"%f\\n\", finish - start); // print
}
void set(struct queue *q) {
  q->head = 0; // init 1
  q->tail = 0; // init 2
  q->count = 0; // init 3
  q->limit = 100; // init 4
  q->total = 0; // init 5
}
void *worker(void *argument) {
  struct queue *q = argument;
  int key;
  while (take(q, &key)) // loop
    say(\"took\"); // said
  return 0;
}
";

#[test]
fn ordinary_code_of_servers_is_accepted() {
    let table = table(QUEUE);
    let of = |first: &str, last: &str| region(&table, line(QUEUE, first), line(QUEUE, last));
    for mark in [
        "full",
        "tail",
        "set",
        "malloc",
        "lock",
        "check",
        "free",
        "append",
        "total",
        "unlock",
        "head",
        "advance",
        "less",
        "key",
        "release",
        "close",
        "open",
        "opened",
        "is open",
        "write",
        "decrement",
        "destroy",
        "first read",
        "store",
        "print",
        "loop",
        "said",
    ] {
        assert_eq!(of(mark, mark), [""; 0], "{mark}");
    }
    for (first, last) in [
        ("lock", "unlock"),
        ("check", "append"),
        ("append", "total"),
        ("head", "release"),
        ("head", "less"),
        ("close", "open"),
        ("close", "opened"),
        ("is open", "write"),
        ("decrement", "destroy"),
        ("decrement", "zero"),
        ("init 1", "init 5"),
        ("first read", "store"),
    ] {
        assert_eq!(of(first, last), [""; 0], "{first} to {last}");
    }
    for name in ["put", "take", "rotate", "say", "drop", "set", "report", "worker"] {
        assert_eq!(function(&table, name), [""; 0], "{name}");
    }
}

#[test]
fn what_was_read_before_the_region_is_refused() {
    let table = table(QUEUE);
    let found = region(&table, line(QUEUE, "second read"), line(QUEUE, "store"));
    assert!(found.iter().any(|why| why.contains("the read")), "{found:?}");
    // `put` has read the count when it looked whether the queue is full; `append` itself reads it.
    for (mark, why) in [("zero", "at test.c:"), ("count", "inlined into put")] {
        let at = line(QUEUE, mark);
        let found = region(&table, at, at);
        assert!(found.len() == 1 && found[0].contains(why), "{mark}: {found:?}");
    }
    let found = function(&table, "append");
    assert!(found.len() == 1 && found[0].contains("inlined into put"), "{found:?}");
}

#[test]
fn the_table_has_calls_accesses_and_inlined_copies() {
    let table = table(QUEUE);
    let name = |text: &str| table.strings.iter().position(|known| known == text).unwrap() as u32;
    let put = table.functions.iter().find(|function| function.name == name("put")).unwrap();
    let call = put.accesses.iter().find(|access| access.callee == name("pthread_mutex_lock")).unwrap();
    assert_eq!((call.kind, call.line, call.depth), (AccessKind::Call, line(QUEUE, "lock"), 0));
    let count = put.accesses.iter().filter(|access| access.line == line(QUEUE, "count"));
    let count: Vec<_> =
        count.map(|access| (access.kind, access.function, access.copy, access.bytes)).collect();
    assert!(count.contains(&(AccessKind::Write, name("append"), 1, 4)), "{count:?}");
    // The key is a local of the worker that nobody else sees once `take` is inlined, and `take` itself has a pointer.
    let worker = table.functions.iter().find(|function| function.name == name("worker")).unwrap();
    assert!(worker.accesses.iter().all(|access| !access.local), "{:?}", worker.accesses);
}
