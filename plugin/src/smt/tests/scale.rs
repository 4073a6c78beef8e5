//! Many facts and many questions: preparation is no slower than in proportion, and the time limit holds.

use super::super::terms::Terms;
use super::super::*;
use std::time::{Duration, Instant};

/// Indices below one size, each with a counter in a loop that it bounds, in one connected set of facts.
struct Program {
    terms: Terms,
    facts: Facts,
    /// An address, the counter that it is computed from, and what holds there.
    places: Vec<(Term, Term, Term)>,
}

fn program(facts: usize) -> Program {
    let mut terms = Terms::new();
    let t = &mut terms;
    let (n, p) = (t.variable(32), t.variable(32));
    let (zero, eight, base) = (t.constant(32, 0), t.constant(64, 8), t.variable(64));
    let (mut always, mut guards, mut places) = (vec![t.sgt(n, zero)], vec![t.sgt(p, zero)], Vec::new());
    for at in 0..facts / 2 {
        let (index, counter) = (t.variable(32), t.variable(32));
        let bound = match at % 4 {
            0 => n,
            1 => t.sdiv(n, p),
            2 => t.add(n, index),
            _ => t.mul(index, p),
        };
        always.push(t.slt(index, n));
        match at % 5 {
            0 => guards.push(t.ule(counter, bound)),
            _ => always.push(t.ule(counter, bound)),
        }
        let wide = t.sext(counter, 64);
        let offset = t.mul(wide, eight);
        places.push((t.add(base, offset), counter, t.ult(counter, index)));
    }
    Program { terms, facts: Facts { always, guards }, places }
}

/// Two places for each question.
fn pairs(program: &Program, count: usize) -> Vec<[(Term, Term, Term); 2]> {
    let places = &program.places;
    (0..count)
        .map(|at| [places[at % places.len()], places[(at * 7 + at / places.len() + 1) % places.len()]])
        .collect()
}

#[test]
fn many_facts_and_questions_take_seconds() {
    let mut program = program(20_000);
    let pairs = pairs(&program, 20_000);
    let question = |[a, b]: [(Term, Term, Term); 2]| {
        let goal = Goal::Disjoint { a: a.0, a_bytes: 8, b: b.0, b_bytes: 8 };
        Question { context: vec![a.2, b.2], goal }
    };
    let questions: Vec<Question> = pairs.iter().copied().map(question).collect();
    let candidates: Vec<Candidate> =
        pairs.iter().map(|[a, b]| Candidate { context: vec![b.2], value: a.0 }).collect();
    let mut prover = Prover::with_threads(Limits::default(), 2);
    let start = Instant::now();
    assert_eq!(prover.consistent(&mut program.terms, &program.facts), Consistency::Yes);
    let answers = prover.ask(&mut program.terms, &program.facts, &questions);
    assert!(answers.iter().all(|answer| *answer == Answer::Refuted));
    let constants = prover.find_constants(&mut program.terms, &program.facts, &candidates);
    assert!(constants.iter().all(Option::is_none));
    assert_eq!((prover.stats().unknown, prover.stats().checks), (0, 0));
    // Two seconds, on a machine that has nothing else to do.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn the_time_limit_holds_for_hard_questions() {
    for facts in [200, 20_000] {
        let mut program = program(facts);
        let pairs = pairs(&program, 5000);
        // Factoring, each another number.
        let t = &mut program.terms;
        let mut question = |(at, [a, b]): (usize, &[(Term, Term, Term); 2])| {
            let (x, y) = (t.zext(a.1, 64), t.zext(b.1, 64));
            let (product, odd) = (t.mul(x, y), t.constant(64, 4_294_967_291 * 4_294_967_279 - 2 * at as u64));
            Question { context: vec![a.2, b.2], goal: Goal::Different(product, odd) }
        };
        let questions: Vec<Question> = pairs.iter().enumerate().map(&mut question).collect();
        let limits = Limits { query: Duration::from_secs(1), total: Duration::from_secs(3) };
        let mut prover = Prover::with_threads(limits, 2);
        let start = Instant::now();
        let answers = prover.ask(&mut program.terms, &program.facts, &questions);
        assert!(
            start.elapsed() < Duration::from_secs(12),
            "{facts}: {:?}, {:?}",
            start.elapsed(),
            prover.stats()
        );
        let unknown = answers.iter().filter(|answer| matches!(answer, Answer::Unknown(Why::Time))).count();
        assert!(unknown > 100, "{facts}: only {unknown} are hard");
    }
}
