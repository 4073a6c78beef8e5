//! Expressions: their code, and what is refused.

use super::*;
use crate::loom::plan::code;

fn one() -> Program {
    program(
        "unit x.c
         fn work taken
           var n
           var m mem
           var p
           var s mem
           var a mem
           var r
           var late gone=5
           var untyped
           @4 nop
           @5 call! write
           @6 return",
    )
}

fn code_of(expression: &str) -> Vec<u8> {
    let source = format!("x.c:5({expression}) <> x.c:5({expression})");
    let compiled = compiled(&one(), &source);
    let part = header(&compiled).code;
    compiled.plan[part.at as usize..(part.at + part.count) as usize].to_vec()
}

fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    let mut all = parts.concat();
    all.push(code::END);
    all
}

fn constant(value: i64) -> Vec<u8> {
    [&[code::CONSTANT][..], &value.to_le_bytes()].concat()
}

fn scale(value: i64) -> Vec<u8> {
    [&[code::SCALE][..], &value.to_le_bytes()].concat()
}

fn word(instruction: u8, word: u32, bytes: u8, signed: u8) -> Vec<u8> {
    [&[instruction][..], &word.to_le_bytes(), &[bytes, signed]].concat()
}

fn global(address: u64) -> Vec<u8> {
    [&[code::GLOBAL][..], &0u32.to_le_bytes(), &address.to_le_bytes()].concat()
}

#[test]
fn expressions_become_code() {
    let n = word(code::VARIABLE, 0, 4, 1);
    let m = word(code::IN_MEMORY, 1, 4, 1);
    let p = word(code::VARIABLE, 2, 8, 0);
    let add = [code::ADD];
    for (expression, expected) in [
        ("n", bytes(&[&n])),
        ("m", bytes(&[&m])),
        ("&m", bytes(&[&word(code::VARIABLE, 1, 8, 0)])),
        ("n + 3", bytes(&[&n, &constant(3), &add])),
        ("n - m", bytes(&[&n, &m, &scale(-1), &add])),
        ("-n", bytes(&[&n, &scale(-1)])),
        ("p", bytes(&[&p])),
        ("p + n", bytes(&[&p, &n, &scale(24), &add])),
        ("&p->count", bytes(&[&p, &constant(4), &add])),
        ("&p->first", bytes(&[&p])),
        ("&p[n]", bytes(&[&p, &n, &scale(24), &add])),
        ("&p[n].count", bytes(&[&p, &n, &scale(24), &add, &constant(4), &add])),
        ("&s.next", bytes(&[&word(code::VARIABLE, 3, 8, 0), &constant(8), &add])),
        ("a", bytes(&[&word(code::VARIABLE, 4, 8, 0)])),
        ("&a[2]", bytes(&[&word(code::VARIABLE, 4, 8, 0), &constant(2), &scale(24), &add])),
        ("&r", bytes(&[&word(code::VARIABLE, 5, 8, 0)])),
        ("&r.count", bytes(&[&word(code::VARIABLE, 5, 8, 0), &constant(4), &add])),
        ("numCPU", bytes(&[&global(0x4000), &[code::LOAD, 4, 1]])),
        ("&numCPU", bytes(&[&global(0x4000)])),
        ("&table[2]", bytes(&[&global(0x5030)])),
        ("table[2].count", bytes(&[&global(0x5034), &[code::LOAD, 4, 1]])),
        ("state.next", bytes(&[&global(0x6008), &[code::LOAD, 8, 0]])),
        ("&state.next->count", bytes(&[&global(0x6008), &[code::LOAD, 8, 0], &constant(4), &add])),
        ("n, p", bytes(&[&n, &p])),
    ] {
        assert_eq!(code_of(expression), expected, "{expression}");
    }
}

#[test]
fn what_cannot_be_had_is_refused_by_name() {
    for (expression, part) in [
        ("q", "no variable `q` before x.c:5 in `work`"),
        ("q", "these have one there: `a`, `m`, `n`, `p`, `r`, `s`, `untyped`"),
        ("late", "`late` has no value before x.c:5 in `work`"),
        ("untyped", "the type of `untyped` is not known"),
        ("&n", "`n` has no address here: optimization keeps it in a register"),
        ("p->count", "`p->count` is read through a pointer"),
        ("p->count", "use the address `&p->count`"),
        ("&p->next->count", "`p->next` is read through a pointer"),
        ("s", "`s` is a `struct record`, not a number or a pointer"),
        ("&p->cout", "`struct record` has no field `cout`"),
        ("&p->cout", "did you mean `count`?"),
        ("&p->flag", "some bits of a word"),
        ("&p.count", "`p` is a pointer"),
        ("&n->count", "`n` is no pointer to a record"),
        ("&n[1]", "`n` is neither an array nor a pointer"),
        ("p + p", "two pointers are neither added nor subtracted"),
        ("n - p", "`p` is a pointer; a number is needed here"),
        ("-p", "`p` is a pointer; a number is needed here"),
        ("own", "`own` has no fixed address"),
        ("1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+1))))))))))))))))", "too long for the engine"),
    ] {
        let source = format!("x.c:5({expression}) <> x.c:5({expression})");
        let text = refused(&one(), &source);
        assert!(text.contains(part), "{expression}: {text}");
    }
}

#[test]
fn a_missing_value_is_shown_with_its_slot() {
    assert_eq!(
        refused(&one(), "{x.c:4(n), x.c:5(late)} <> work(n)"),
        "f:1:18: error: `late` has no value after x.c:5 in `work`\n 1 | {x.c:4(n), x.c:5(late)} <> work(n)\n   |                  ^~~~\n  \
         help: these have one there: `a`, `m`, `n`, `p`, `r`, `s`, `untyped`\n"
    );
}

#[test]
fn keys_of_one_constraint_have_one_form() {
    let text = refused(&one(), "x.c:5(n) <> work");
    assert!(text.contains("no expression here, 1 expression at the constraint's start"), "{text}");
    let text = refused(&one(), "x.c:5(n) <> *");
    assert!(text.contains("an expression has no meaning here"), "{text}");
    let text = refused(&one(), "x.c:5(n) > x.c:6(n, m)");
    assert!(text.contains("2 expressions here, 1 expression"), "{text}");
}
