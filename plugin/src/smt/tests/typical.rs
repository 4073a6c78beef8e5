//! Typical questions of partitioned programs: each must be answered within the default limits, most without the solver.

use super::super::terms::{Term, Terms};
use super::super::*;

/// What is asked, with the facts.
struct Case {
    terms: Terms,
    facts: Facts,
    question: Question,
    expected: Answer,
}

const PROVEN: Answer = Answer::Proven { with_guards: false };

#[derive(Clone, Copy)]
enum Div {
    Signed,
    Unsigned,
}

/// `low <= x < high`, signed.
fn within(terms: &mut Terms, low: Term, x: Term, high: Term) -> Term {
    let (above, below) = (terms.sle(low, x), terms.slt(x, high));
    terms.and(above, below)
}

fn limited(terms: &mut Terms, x: Term, low: u64, high: u64) -> Term {
    let width = terms.width(x);
    let (low, high) = (terms.constant(width, low), terms.constant(width, high));
    let (above, below) = (terms.sle(low, x), terms.sle(x, high));
    terms.and(above, below)
}

/// Threads i and j of p work on `n*i/p .. n*(i+1)/p`: do k and l meet? With numbers for i and j, or without.
fn partition(div: Div, width: u32, p: Option<u64>, ids: Option<(u64, u64)>, overlap: bool) -> Case {
    let mut terms = Terms::new();
    let t = &mut terms;
    let (n, k, l) =
        (t.variable_named(width, "n"), t.variable_named(width, "k"), t.variable_named(width, "l"));
    let mut always = vec![limited(t, n, 0, 1_000_000)];
    let p = match p {
        Some(p) => t.constant(width, p),
        None => {
            let p = t.variable_named(width, "p");
            always.push(limited(t, p, 1, 64));
            p
        }
    };
    let (i, j) = match ids {
        Some((i, j)) => (t.constant(width, i), t.constant(width, j)),
        None => {
            let (i, j) = (t.variable_named(width, "i"), t.variable_named(width, "j"));
            let zero = t.constant(width, 0);
            always.extend([t.sle(zero, i), t.slt(i, j), t.slt(j, p)]);
            (i, j)
        }
    };
    let one = t.constant(width, 1);
    let bound = |t: &mut Terms, i: Term| {
        let scaled = t.mul(n, i);
        match div {
            Div::Signed => t.sdiv(scaled, p),
            Div::Unsigned => t.udiv(scaled, p),
        }
    };
    let (next_i, next_j) = (t.add(i, one), t.add(j, one));
    let ends = [bound(t, i), bound(t, next_i), bound(t, j), bound(t, next_j)];
    let k_range = within(t, ends[0], k, if overlap { ends[3] } else { ends[1] });
    let l_range = within(t, ends[2], l, ends[3]);
    let question = Question { context: vec![k_range, l_range], goal: Goal::Different(k, l) };
    let expected = if overlap { Answer::Refuted } else { PROVEN };
    Case { terms, facts: Facts { always, guards: vec![] }, question, expected }
}

/// Threads work on chunks of `n / p` elements.
fn chunks(width: u32, p: Option<u64>, i: u64, j: u64) -> Case {
    let mut terms = Terms::new();
    let t = &mut terms;
    let (n, k, l) = (t.variable(width), t.variable(width), t.variable(width));
    let mut always = vec![limited(t, n, 0, 1_000_000)];
    let p = match p {
        Some(p) => t.constant(width, p),
        None => {
            let p = t.variable(width);
            always.push(limited(t, p, 1, 64));
            p
        }
    };
    let chunk = t.sdiv(n, p);
    let range = |t: &mut Terms, i: u64, x: Term| {
        let (low, high) = (t.constant(width, i), t.constant(width, i + 1));
        let (low, high) = (t.mul(low, chunk), t.mul(high, chunk));
        within(t, low, x, high)
    };
    let context = vec![range(t, i, k), range(t, j, l)];
    let (base, eight) = (t.variable(64), t.constant(64, 8));
    let place = |t: &mut Terms, index: Term| {
        let wide = t.sext(index, 64);
        let offset = t.mul(wide, eight);
        t.add(base, offset)
    };
    let (a, b) = (place(t, k), place(t, l));
    let goal = Goal::Disjoint { a, a_bytes: 8, b, b_bytes: 8 };
    let question = Question { context, goal };
    Case { terms, facts: Facts { always, guards: vec![] }, question, expected: PROVEN }
}

/// Threads 0 and `id` of `nt` work on every nt-th element.
fn interleaved(width: u32, nt: Option<u64>, id: u64) -> Case {
    let mut terms = Terms::new();
    let t = &mut terms;
    let (k, l) = (t.variable(width), t.variable(width));
    let mut always = vec![limited(t, k, 0, 1_000_000), limited(t, l, 0, 1_000_000)];
    let nt = match nt {
        Some(nt) => t.constant(width, nt),
        None => {
            let nt = t.variable(width);
            always.push(limited(t, nt, id + 1, 64));
            nt
        }
    };
    let (a, b) = (t.mul(nt, k), t.mul(nt, l));
    let id = t.constant(width, id);
    let b = t.add(b, id);
    let question = Question { context: vec![], goal: Goal::Different(a, b) };
    Case { terms, facts: Facts { always, guards: vec![] }, question, expected: PROVEN }
}

/// `base + 8*i` and `base + 8*j` with `0 <= i < m <= j < n`, indices of 32 bits.
fn bounded(apart: bool) -> Case {
    let mut terms = Terms::new();
    let t = &mut terms;
    let (base, eight, zero) = (t.variable(64), t.constant(64, 8), t.constant(32, 0));
    let [i, j, m, n] = [(); 4].map(|()| t.variable(32));
    let start = if apart { m } else { i };
    let always = vec![within(t, zero, i, m), within(t, start, j, n)];
    let place = |t: &mut Terms, index: Term| {
        let wide = t.sext(index, 64);
        let offset = t.mul(wide, eight);
        t.add(base, offset)
    };
    let (a, b) = (place(t, i), place(t, j));
    let question = Question { context: vec![], goal: Goal::Disjoint { a, a_bytes: 8, b, b_bytes: 8 } };
    let expected = if apart { PROVEN } else { Answer::Refuted };
    Case { terms, facts: Facts { always, guards: vec![] }, question, expected }
}

/// A matrix of `cols` columns: rows r and s do not meet, nor do `i / cols` and `i % cols` lose anything.
fn rows(cols: Option<u64>) -> Case {
    let mut terms = Terms::new();
    let t = &mut terms;
    let [r, s, c, d] = [(); 4].map(|()| t.variable(32));
    let mut always = vec![limited(t, r, 0, 1000), limited(t, s, 0, 1000)];
    let cols = match cols {
        Some(cols) => t.constant(32, cols),
        None => {
            let cols = t.variable(32);
            always.push(limited(t, cols, 1, 1000));
            cols
        }
    };
    let zero = t.constant(32, 0);
    always.extend([within(t, zero, c, cols), within(t, zero, d, cols), t.slt(r, s)]);
    let (a, b) = (t.mul(r, cols), t.mul(s, cols));
    let (a, b) = (t.add(a, c), t.add(b, d));
    let question = Question { context: vec![], goal: Goal::Different(a, b) };
    Case { terms, facts: Facts { always, guards: vec![] }, question, expected: PROVEN }
}

/// Counters within counters: `part*id + 100*a + b` with what loops say of each sum, and nothing of `b` alone.
fn blocks(width: u32) -> Case {
    let mut terms = Terms::new();
    let t = &mut terms;
    let (n, three, hundred) = (t.variable(width), t.constant(width, 3), t.constant(width, 100));
    let mut always = vec![limited(t, n, 0, 4096)];
    let part = t.sdiv(n, three);
    let mut context = Vec::new();
    let mut places = Vec::new();
    for id in 0..2 {
        let (id, next) = (t.constant(width, id), t.constant(width, id + 1));
        let (low, high) = (t.mul(part, id), t.mul(part, next));
        let (a, b) = (t.variable(width), t.variable(width));
        let blocks = t.mul(hundred, a);
        let block = t.add(low, blocks);
        let place = t.add(block, b);
        always.extend([t.sle(low, block), t.sle(block, place)]);
        context.extend([t.slt(block, high), t.slt(place, high)]);
        places.push(place);
    }
    let goal = Goal::Disjoint { a: places[0], a_bytes: 1, b: places[1], b_bytes: 1 };
    let question = Question { context, goal };
    Case { terms, facts: Facts { always, guards: vec![] }, question, expected: PROVEN }
}

#[test]
fn sums_are_compared_as_they_stand() {
    for width in [32, 64] {
        let mut case = blocks(width);
        let mut prover = Prover::with_threads(Limits::default(), 1);
        let answer = prover.ask(&mut case.terms, &case.facts, std::slice::from_ref(&case.question)).remove(0);
        assert_eq!((answer, prover.stats().z3), (case.expected, 0), "{width} bits");
    }
}

#[test]
fn typical_questions_are_answered_in_time() {
    let mut cases: Vec<(String, Case)> = Vec::new();
    for (name, div) in [("sdiv", Div::Signed), ("udiv", Div::Unsigned)] {
        for width in [32, 64] {
            for p in [Some(3), Some(7), Some(8), None] {
                for ids in [(1, 2), (1, 5)] {
                    let case = partition(div, width, p, Some(ids), false);
                    cases.push((format!("partition {name} {width} p={p:?} {ids:?}"), case));
                }
                let case = partition(div, width, p, None, false);
                cases.push((format!("partition {name} {width} p={p:?} i<j"), case));
                let case = partition(div, width, p, Some((1, 2)), true);
                cases.push((format!("partition {name} {width} p={p:?} overlapping"), case));
            }
        }
    }
    for p in [Some(3), Some(8), None] {
        cases.push((format!("chunks 32 p={p:?}"), chunks(32, p, 1, 2)));
        cases.push((format!("chunks 32 p={p:?} far"), chunks(32, p, 1, 5)));
        cases.push((format!("chunks 64 p={p:?}"), chunks(64, p, 1, 2)));
    }
    for width in [32, 64] {
        for nt in [Some(2), Some(3), Some(7), None] {
            cases.push((format!("interleaved {width} nt={nt:?}"), interleaved(width, nt, 1)));
        }
    }
    cases.push(("bounded".into(), bounded(true)));
    cases.push(("bounded, overlapping".into(), bounded(false)));
    cases.push(("rows of 10".into(), rows(Some(10))));
    cases.push(("rows of n".into(), rows(None)));
    let (mut missed, mut given, count) = (Vec::new(), 0, cases.len() as u64);
    for (name, mut case) in cases {
        let mut prover = Prover::with_threads(Limits::default(), 1);
        let answer = prover.ask(&mut case.terms, &case.facts, std::slice::from_ref(&case.question)).remove(0);
        if answer != case.expected {
            missed.push((name, answer));
        }
        given += prover.stats().z3;
    }
    assert!(missed.is_empty(), "{missed:?}");
    assert!(given <= count / 4, "{given} of {count} need the solver");
}

/// Many threads on one array, in one connected set of facts: chunks of n/p elements, indices that are one of two
/// values (a PHI), eight arrays that are allocated apart.
struct Kernel {
    terms: Terms,
    facts: Facts,
    /// By thread: an index that is one of two.
    indices: Vec<Term>,
    bases: Vec<Term>,
    p: Term,
}

fn kernel(threads: u64) -> Kernel {
    let mut terms = Terms::new();
    let t = &mut terms;
    let (n, p) = (t.variable_named(32, "n"), t.variable_named(32, "p"));
    let mut always = vec![limited(t, n, 1, 1_000_000), limited(t, p, 1, 64)];
    let chunk = t.sdiv(n, p);
    let mut indices = Vec::new();
    let zero = t.constant(32, 0);
    for id in 0..threads {
        let (low, high) = (t.constant(32, id), t.constant(32, id + 1));
        let (low, high) = (t.mul(low, chunk), t.mul(high, chunk));
        let (i, v) = (t.variable_named(32, &format!("i{id}")), t.variable_named(32, &format!("v{id}")));
        always.push(within(t, low, i, high));
        // v is i, or the element before it where there is one.
        let one = t.constant(32, 1);
        let before = t.sub(i, one);
        let (same, other, inside) = (t.eq(v, i), t.eq(v, before), t.sgt(i, low));
        let second = t.and(other, inside);
        always.push(t.or(same, second));
        let flag = t.variable_named(32, &format!("f{id}"));
        let masked = t.and(flag, i);
        let is_zero = t.eq(masked, zero);
        always.push(t.not(is_zero));
        indices.push(v);
    }
    let bases: Vec<Term> = (0..8).map(|at| t.variable_named(64, &format!("base{at}"))).collect();
    let eight = t.constant(64, 8);
    let wide = t.zext(n, 64);
    let bytes = t.mul(wide, eight);
    let most = t.constant(64, 1 << 47);
    for &base in &bases {
        always.push(t.ult(base, most));
    }
    for (at, &a) in bases.iter().enumerate() {
        for &b in &bases[at + 1..] {
            let (a_end, b_end) = (t.add(a, bytes), t.add(b, bytes));
            let (before, after) = (t.ule(a_end, b), t.ule(b_end, a));
            always.push(t.or(before, after));
        }
    }
    Kernel { terms, facts: Facts { always, guards: vec![] }, indices, bases, p }
}

#[test]
fn partitions_of_one_program_are_apart() {
    let mut kernel = kernel(8);
    let t = &mut kernel.terms;
    let eight = t.constant(64, 8);
    let mut questions = Vec::new();
    let mut places = Vec::new();
    for &index in &kernel.indices {
        let wide = t.sext(index, 64);
        let offset = t.mul(wide, eight);
        places.push(t.add(kernel.bases[0], offset));
    }
    for (at, &a) in places.iter().enumerate() {
        for &b in &places[at + 1..] {
            let goal = Goal::Disjoint { a, a_bytes: 8, b, b_bytes: 8 };
            questions.push(Question { context: vec![], goal });
        }
    }
    let mut prover = Prover::with_threads(Limits::default(), 2);
    assert_eq!(prover.consistent(t, &kernel.facts), Consistency::Yes);
    let answers = prover.ask(t, &kernel.facts, &questions);
    assert!(answers.iter().all(|answer| *answer == PROVEN), "{answers:?}");
    assert_eq!((prover.stats().z3, prover.stats().unknown), (0, 0));
}

#[test]
fn constants_are_found_among_many_values() {
    let mut kernel = kernel(8);
    let t = &mut kernel.terms;
    // The create loop ran four times: p is 4, says a guard.
    let p = kernel.p;
    let (four, five) = (t.constant(32, 4), t.constant(32, 5));
    kernel.facts.guards = vec![t.slt(p, five), t.sge(p, four)];
    let mut values = vec![p];
    for at in 0..100 {
        let by = t.constant(32, at + 3);
        let index = kernel.indices[at as usize % 8];
        let (scaled, mixed) = (t.mul(p, by), t.xor(index, by));
        // Every fifth is constant, with the guards.
        values.push(if at % 5 == 0 { t.udiv(scaled, four) } else { t.add(scaled, mixed) });
    }
    let candidates: Vec<Candidate> =
        values.iter().map(|&value| Candidate { context: vec![], value }).collect();
    let mut prover = Prover::with_threads(Limits::default(), 2);
    let found = prover.find_constants(t, &kernel.facts, &candidates);
    assert!(found.iter().flatten().all(|constant| constant.with_guards));
    assert_eq!((found.iter().flatten().count(), prover.stats().unknown), (21, 0));
    assert_eq!(found[0], Some(Constant { value: 4, with_guards: true }));
}
