//! Terms against plain arithmetic and against Z3.

use super::super::bits::mask;
use super::super::terms::{Term, Terms};
use super::super::z3::{Engine, Mode, Outcome, Procedure};
use super::programs::{run, variables, Step, WIDTHS};
use proptest::prelude::*;
use std::time::{Duration, Instant};
use z3_sys::*;

/// What Z3 computes for an operation on two numbers, as bit-vectors even where they have one bit.
fn z3_computes(engine: &mut Engine, op: usize, width: u32, a: u64, b: u64) -> u64 {
    let context = engine.context;
    // SAFETY: one engine, all formulas are kept until its end.
    unsafe {
        let sort = Z3_mk_bv_sort(context, width).unwrap();
        let sort_formula = Z3_sort_to_ast(context, sort);
        engine.keep(sort_formula).unwrap();
        let a = engine.keep(Z3_mk_unsigned_int64(context, a, sort)).unwrap();
        let b = engine.keep(Z3_mk_unsigned_int64(context, b, sort)).unwrap();
        let made = match op {
            0 => Z3_mk_bvadd(context, a, b),
            1 => Z3_mk_bvsub(context, a, b),
            2 => Z3_mk_bvmul(context, a, b),
            3 => Z3_mk_bvudiv(context, a, b),
            4 => Z3_mk_bvsdiv(context, a, b),
            5 => Z3_mk_bvurem(context, a, b),
            6 => Z3_mk_bvsrem(context, a, b),
            7 => Z3_mk_bvshl(context, a, b),
            8 => Z3_mk_bvlshr(context, a, b),
            9 => Z3_mk_bvashr(context, a, b),
            10 => Z3_mk_bvand(context, a, b),
            11 => Z3_mk_bvor(context, a, b),
            12 => Z3_mk_bvxor(context, a, b),
            13 => Z3_mk_eq(context, a, b),
            14 => Z3_mk_bvult(context, a, b),
            15 => Z3_mk_bvule(context, a, b),
            16 => Z3_mk_bvugt(context, a, b),
            17 => Z3_mk_bvuge(context, a, b),
            18 => Z3_mk_bvslt(context, a, b),
            19 => Z3_mk_bvsle(context, a, b),
            20 => Z3_mk_bvsgt(context, a, b),
            21 => Z3_mk_bvsge(context, a, b),
            _ => Z3_mk_bvnot(context, a),
        };
        let made = engine.keep(made).unwrap();
        let simple = engine.keep(Z3_simplify(context, made)).unwrap();
        match Z3_get_bool_value(context, simple) {
            Z3_L_TRUE => return 1,
            Z3_L_FALSE => return 0,
            _ => {}
        }
        let mut value = 0;
        assert!(Z3_get_numeral_uint64(context, simple, &mut value), "not folded by Z3");
        value
    }
}

fn ours(terms: &mut Terms, op: usize, a: Term, b: Term) -> Term {
    match op {
        0 => terms.add(a, b),
        1 => terms.sub(a, b),
        2 => terms.mul(a, b),
        3 => terms.udiv(a, b),
        4 => terms.sdiv(a, b),
        5 => terms.urem(a, b),
        6 => terms.srem(a, b),
        7 => terms.shl(a, b),
        8 => terms.lshr(a, b),
        9 => terms.ashr(a, b),
        10 => terms.and(a, b),
        11 => terms.or(a, b),
        12 => terms.xor(a, b),
        13 => terms.eq(a, b),
        14 => terms.ult(a, b),
        15 => terms.ule(a, b),
        16 => terms.ugt(a, b),
        17 => terms.uge(a, b),
        18 => terms.slt(a, b),
        19 => terms.sle(a, b),
        20 => terms.sgt(a, b),
        21 => terms.sge(a, b),
        _ => terms.not(a),
    }
}

pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..10u64,
        (0..10u64).prop_map(|below| u64::MAX - below),
        (0..64u32).prop_map(|bit| 1 << bit)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn folding_is_what_z3_computes(a in number(), b in number()) {
        let mut engine = Engine::new().unwrap();
        let mut terms = Terms::new();
        for width in WIDTHS {
            let (a, b) = (a & mask(width), b & mask(width));
            for op in 0..23 {
                let (x, y) = (terms.constant(width, a), terms.constant(width, b));
                let folded = ours(&mut terms, op, x, y);
                let expected = z3_computes(&mut engine, op, width, a, b);
                prop_assert_eq!(terms.as_constant(folded), Some(expected), "op {} width {} {} {}", op, width, a, b);
            }
        }
    }
}

pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), number()), 1..most)
}

fn assignments(count: usize, variables: usize) -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(number(), variables), count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn simplified_terms_have_the_plain_value(steps in steps(40), values in assignments(6, 7)) {
        let mut terms = Terms::new();
        let start = variables(&mut terms, &WIDTHS, &values);
        let inputs: Vec<Term> = start.iter().map(|sample| sample.term).collect();
        for sample in run(&mut terms, start, &steps, &WIDTHS) {
            let bounds = terms.bounds(sample.term);
            for (values, &expected) in values.iter().zip(&sample.values) {
                let assign = |term: Term| values[inputs.iter().position(|&input| input == term).unwrap()];
                prop_assert_eq!(terms.eval(sample.term, &assign), expected, "{}", terms.show(sample.term));
                let (low, high) = bounds.unsigned;
                prop_assert!((low..=high).contains(&expected), "{:?} {}", bounds, expected);
                let signed = super::super::bits::signed(terms.width(sample.term), expected);
                prop_assert!((bounds.signed.0..=bounds.signed.1).contains(&signed), "{:?} {}", bounds, signed);
                prop_assert_eq!((expected & bounds.zeros, !expected & bounds.ones), (0, 0), "{:?}", bounds);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Each term and its value under one assignment, given to Z3 in both modes.
    #[test]
    fn formulas_mean_what_terms_mean(steps in steps(12), values in assignments(1, 7)) {
        let mut terms = Terms::new();
        let start = variables(&mut terms, &WIDTHS, &values);
        let mut claims: Vec<Term> = Vec::new();
        for sample in &start {
            let value = terms.constant(terms.width(sample.term), sample.values[0]);
            claims.push(terms.eq(sample.term, value));
        }
        let samples = run(&mut terms, start, &steps, &WIDTHS);
        let mut engine = Engine::new().unwrap();
        let solver = engine.solver(Procedure::Once, Mode::Exact).unwrap();
        for &claim in &claims {
            engine.assert(solver, &terms, claim, None).unwrap();
        }
        let limit = Duration::from_secs(5);
        prop_assert_eq!(engine.check(solver, &[], limit), Outcome::Sat);
        for sample in samples {
            // Not simplified away: the formula of the term itself is asked about.
            engine.push(solver).unwrap();
            let differs = super::super::z3::Differs { context: &[], value: Some((sample.term, sample.values[0])) };
            engine.assert_one_differs(solver, &terms, &[differs]).unwrap();
            prop_assert_eq!(engine.check(solver, &[], limit), Outcome::Unsat, "{}", terms.show(sample.term));
            engine.pop(solver).unwrap();
        }
    }
}

#[test]
fn equal_addresses_are_the_same_term() {
    let mut terms = Terms::new();
    let (base, i, n) = (terms.variable(64), terms.variable(64), terms.variable(64));
    let (one, eight) = (terms.constant(64, 1), terms.constant(64, 8));
    // base + 8 * (i + 1) and (base + 8) + (i << 3)
    let next = terms.add(i, one);
    let scaled = terms.mul(next, eight);
    let left = terms.add(base, scaled);
    let three = terms.constant(64, 3);
    let shifted = terms.shl(i, three);
    let right = terms.add(base, eight);
    let right = terms.add(right, shifted);
    assert_eq!(left, right);
    // n * (i + 1) - n * i == n
    let (one_row, two_rows) = (terms.mul(n, i), terms.mul(n, next));
    assert_eq!(terms.sub(two_rows, one_row), n);
    // Two rows of a matrix, 8 bytes apart.
    let a = terms.add(two_rows, eight);
    assert_eq!(terms.difference(a, two_rows), Some(8));
    assert_eq!(terms.difference(a, one_row), None);
    assert_eq!(terms.difference(two_rows, a), Some(8u64.wrapping_neg()));
}

#[test]
fn widening_a_sum_is_exact_or_not_done() {
    let mut terms = Terms::new();
    let byte = terms.variable(8);
    let wide = terms.zext(byte, 32);
    let one = terms.constant(32, 1);
    let sum = terms.add(wide, one);
    let far = terms.zext(sum, 64);
    // zext(zext(byte) + 1) == zext(byte) + 1: it cannot wrap.
    let direct = terms.zext(byte, 64);
    assert_eq!(terms.difference(far, direct), Some(1));
    let int = terms.variable(32);
    let next = terms.add(int, one);
    let (far, near) = (terms.sext(next, 64), terms.sext(int, 64));
    assert_eq!(terms.difference(far, near), None);
    // Truncation always goes through.
    let back = terms.trunc(far, 32);
    assert_eq!(back, next);
}

#[test]
fn long_chains_neither_overflow_the_stack_nor_take_quadratic_time() {
    let start = Instant::now();
    let mut terms = Terms::new();
    let mut sum = terms.variable(64);
    let mut mixed = terms.variable(64);
    for at in 0..200_000u64 {
        let next = terms.variable(64);
        sum = terms.add(sum, next);
        let factor = terms.constant(64, at | 1);
        let product = terms.mul(mixed, factor);
        mixed = terms.xor(product, next);
    }
    let both = terms.add(sum, mixed);
    let low = terms.trunc(both, 32);
    assert_eq!(terms.width(low), 32);
    terms.eval(low, &|term| u64::from(term.0));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn variables_with_a_key_are_the_same_in_later_rounds() {
    let mut terms = Terms::new();
    let (a, b) = (terms.variable_keyed(32, 7), terms.variable_keyed(64, 7));
    assert_ne!(a, b);
    assert_eq!(terms.variable_keyed(32, 7), a);
    assert_ne!(terms.variable(32), a);
    let sum = terms.add(a, a);
    assert_eq!(terms.variables(sum), [a]);
}

#[test]
fn terms_can_be_read() {
    let mut terms = Terms::new();
    let (base, i) = (terms.variable_named(64, "base"), terms.variable_named(32, "i"));
    let wide = terms.sext(i, 64);
    let eight = terms.constant(64, 8);
    let offset = terms.mul(wide, eight);
    let address = terms.add(base, offset);
    let address = terms.sub(address, eight);
    assert_eq!(terms.show(address).to_string(), "(base + 8*sext64(i) - 8)");
}
