//! Many facts and many questions: preparation is no slower than in proportion, and the time limit holds.

use super::super::terms::Terms;
use super::super::*;
use std::time::{Duration, Instant};

/// So many indices below one size, each with a counter in a loop that it bounds, in one connected set of facts.
struct Program {
    terms: Terms,
    facts: Facts,
    questions: Vec<Question>,
}

fn program(count: usize) -> Program {
    let mut terms = Terms::new();
    let t = &mut terms;
    let (n, p) = (t.variable(32), t.variable(32));
    let (zero, eight, base) = (t.constant(32, 0), t.constant(64, 8), t.variable(64));
    let (mut always, mut guards, mut places) = (vec![t.sgt(n, zero)], vec![t.sgt(p, zero)], Vec::new());
    for at in 0..count / 2 {
        let (index, counter) = (t.variable(32), t.variable(32));
        let scaled = t.mul(index, p);
        let bound = match at % 4 {
            0 => n,
            1 => t.sdiv(n, p),
            2 => t.add(n, index),
            _ => scaled,
        };
        always.push(t.slt(index, n));
        match at % 5 {
            0 => guards.push(t.ule(counter, bound)),
            _ => always.push(t.ule(counter, bound)),
        }
        let place = t.sext(counter, 64);
        let offset = t.mul(place, eight);
        places.push((t.add(base, offset), t.ult(counter, index)));
    }
    let question = |at: usize| {
        let ((a, context), (b, more)) = (places[at % places.len()], places[(at * 7 + 1) % places.len()]);
        let goal = Goal::Disjoint { a, a_bytes: 8, b, b_bytes: 8 };
        Question { context: vec![context, more], goal }
    };
    let questions = (0..count).map(question).collect();
    Program { terms, facts: Facts { always, guards }, questions }
}

#[test]
fn the_time_limit_holds() {
    for count in [200, 20_000] {
        let Program { mut terms, facts, questions } = program(count);
        let limits = Limits { query: Duration::from_secs(1), total: Duration::from_secs(4) };
        let mut prover = Prover::with_threads(limits, 2);
        let start = Instant::now();
        let consistent = prover.consistent(&mut terms, &facts);
        println!("{count}: consistent {consistent:?} {:?}", start.elapsed());
        assert!(!matches!(consistent, Consistency::No { .. }));
        let answers = prover.ask(&mut terms, &facts, &questions);
        println!("{count}: asked {:?} {:?}", start.elapsed(), prover.stats());
        let values: Vec<Candidate> = questions
            .iter()
            .map(|question| match question.goal {
                Goal::Disjoint { a, .. } => Candidate { context: question.context.clone(), value: a },
                _ => unreachable!(),
            })
            .collect();
        prover.find_constants(&mut terms, &facts, &values);
        println!("{count}: constants {:?} {:?}", start.elapsed(), prover.stats());
        // On a busy machine.
        assert!(start.elapsed() < Duration::from_secs(16), "{count}: {:?}", start.elapsed());
        assert!(answers.iter().all(|answer| matches!(answer, Answer::Refuted | Answer::Unknown(Why::Time))));
    }
}
