//! What is decided without the solver, against brute force: comparisons of the terms that programs compute
//! addresses with.

use super::super::ranges::Ranges;
use super::super::terms::{Term, Terms};
use super::super::Goal;
use proptest::prelude::*;

/// Sums, products, quotients and shifts of three variables of four bits, narrow and wide.
fn pool(terms: &mut Terms, picks: &[(u8, u8, u8, u8)]) -> (Vec<Term>, Vec<Term>) {
    let variables: Vec<Term> = (0..3).map(|_| terms.variable(4)).collect();
    let mut narrow = variables.clone();
    let mut wide = Vec::new();
    for &variable in &variables {
        wide.extend([terms.zext(variable, 8), terms.sext(variable, 8)]);
    }
    for &(kind, a, b, constant) in picks {
        let pool = if kind & 1 == 0 { &mut narrow } else { &mut wide };
        let (x, y) = (pool[usize::from(a) % pool.len()], pool[usize::from(b) % pool.len()]);
        let width = terms.width(x);
        let by = terms.constant(width, u64::from(constant));
        let made = match kind / 2 % 10 {
            0 => terms.add(x, by),
            1 => terms.sub(x, y),
            2 => terms.mul(x, by),
            3 => terms.mul(x, y),
            4 => terms.udiv(x, y),
            5 => terms.sdiv(x, by),
            6 => {
                let one = terms.constant(width, 1 + u64::from(constant % 3));
                terms.lshr(x, one)
            }
            7 => terms.urem(x, by),
            8 => terms.add(x, y),
            _ => terms.udiv(x, by),
        };
        pool.push(made);
        if width == 4 {
            let widened = if constant & 1 == 0 { terms.zext(made, 8) } else { terms.sext(made, 8) };
            wide.push(widened);
        }
    }
    (narrow, wide)
}

fn comparison(terms: &mut Terms, pool: &[Term], (kind, a, b): (u8, u8, u8)) -> Term {
    let (x, y) = (pool[usize::from(a) % pool.len()], pool[usize::from(b) % pool.len()]);
    match kind % 7 {
        0 => terms.eq(x, y),
        1 => terms.ne(x, y),
        2 => terms.ult(x, y),
        3 => terms.ule(x, y),
        4 => terms.slt(x, y),
        5 => terms.sle(x, y),
        _ => {
            let bytes = (u64::from(kind) / 7 % 3 + 1, u64::from(kind) / 21 % 3 + 1);
            Goal::Disjoint { a: x, a_bytes: bytes.0, b: y, b_bytes: bytes.1 }.claim(terms)
        }
    }
}

type Pick = (u8, u8, u8);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_is_decided_without_the_solver_is_true(
        made in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), 0..16u8), 2..8),
        facts in prop::collection::vec((any::<Pick>(), any::<bool>()), 0..5),
        context in prop::collection::vec((any::<Pick>(), any::<bool>()), 0..3),
        claims in prop::collection::vec((any::<Pick>(), any::<bool>()), 40),
    ) {
        let mut terms = Terms::new();
        let (narrow, wide) = pool(&mut terms, &made);
        let mut compare = |picks: &[(Pick, bool)]| -> Vec<Term> {
            let of = |narrows: bool| if narrows { &narrow } else { &wide };
            picks.iter().map(|&(pick, narrows)| comparison(&mut terms, of(narrows), pick)).collect()
        };
        let (facts, context, claims) = (compare(&facts), compare(&context), compare(&claims));
        let mut ranges = Ranges::of(&terms, &facts);
        let models: Vec<u64> = (0..4096)
            .filter(|&all| {
                let value = |term: Term| all >> (4 * term.0) & 15;
                facts.iter().chain(&context).all(|&fact| terms.eval(fact, &value) == 1)
            })
            .collect();
        for &claim in &claims {
            // One of the first facts, or one of the others: a disjunction, taken case by case.
            let alternatives = [context.iter().map(|&case| vec![case]).collect::<Vec<_>>()];
            if !context.is_empty() && ranges.holds_in_all_cases(&terms, &mut Vec::new(), claim, &alternatives) {
                for all in 0..4096u64 {
                    let value = |term: Term| all >> (4 * term.0) & 15;
                    let hold = |term: &Term| terms.eval(*term, &value) == 1;
                    if facts.iter().all(hold) && context.iter().any(hold) {
                        prop_assert!(hold(&claim), "{} in all cases, not with {:03x}", terms.show(claim), all);
                    }
                }
            }
            let Some(decided) = ranges.decide(&terms, &context, claim) else { continue };
            for &all in &models {
                let value = |term: Term| all >> (4 * term.0) & 15;
                let holds = terms.eval(claim, &value) == 1;
                let facts: Vec<String> =
                    facts.iter().chain(&context).map(|&fact| terms.show(fact).to_string()).collect();
                prop_assert_eq!(decided, holds, "{} under {:?} with {:03x}", terms.show(claim), facts, all);
            }
        }
    }
}
