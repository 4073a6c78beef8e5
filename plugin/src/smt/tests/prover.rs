//! What a caller relies on, case by case.

use super::super::terms::{Term, Terms};
use super::super::*;
use std::time::{Duration, Instant};

const PROVEN: Answer = Answer::Proven { with_guards: false };

fn prover() -> Prover {
    Prover::with_threads(Limits::default(), 2)
}

fn question(context: &[Term], goal: Goal) -> Question {
    Question { context: context.to_vec(), goal }
}

fn one(prover: &mut Prover, terms: &mut Terms, facts: &Facts, question: Question) -> Answer {
    prover.ask(terms, facts, &[question]).remove(0)
}

#[test]
fn addresses_apart_need_no_solver() {
    let mut terms = Terms::new();
    let mut prover = prover();
    let (base, other, i) = (terms.variable(64), terms.variable(64), terms.variable(32));
    let wide = terms.sext(i, 64);
    let eight = terms.constant(64, 8);
    let offset = terms.mul(wide, eight);
    let a = terms.add(base, offset);
    let b = terms.add(a, eight);
    let facts = Facts::default();
    let disjoint = Goal::Disjoint { a, a_bytes: 8, b, b_bytes: 8 };
    let overlap = Goal::Disjoint { a, a_bytes: 9, b, b_bytes: 8 };
    let questions = [
        question(&[], Goal::Different(a, b)),
        question(&[], Goal::Equal(a, a)),
        question(&[], disjoint),
        question(&[], overlap),
        question(&[], Goal::Equal(a, b)),
    ];
    let answers = prover.ask(&mut terms, &facts, &questions);
    assert_eq!(answers, [PROVEN, PROVEN, PROVEN, Answer::Refuted, Answer::Refuted]);
    assert_eq!(prover.stats().checks, 0);
    assert_eq!(prover.stats().fast, 5);
    let answer = one(&mut prover, &mut terms, &facts, question(&[], Goal::Different(a, other)));
    assert_eq!(answer, Answer::Refuted);
    assert_eq!((prover.stats().fast, prover.stats().z3, prover.stats().checks), (6, 0, 0));
}

#[test]
fn bounds_from_facts_and_context_need_no_solver() {
    let mut terms = Terms::new();
    let mut prover = prover();
    let (base, i, j) = (terms.variable(64), terms.variable(64), terms.variable(64));
    let (ten, eight) = (terms.constant(64, 10), terms.constant(64, 8));
    let (low, high) = (terms.ult(i, ten), terms.uge(j, ten));
    let hundred = terms.constant(64, 100);
    let facts = Facts { always: vec![low, terms.ult(j, hundred)], guards: Vec::new() };
    let mut place = |index| {
        let offset = terms.mul(index, eight);
        terms.add(base, offset)
    };
    let (a, b) = (place(i), place(j));
    let goal = Goal::Disjoint { a, a_bytes: 8, b, b_bytes: 8 };
    assert_eq!(one(&mut prover, &mut terms, &facts, question(&[high], goal)), PROVEN);
    assert_eq!(prover.stats().checks, 0);
    assert_eq!(one(&mut prover, &mut terms, &facts, question(&[], goal)), Answer::Refuted);
}

#[test]
fn a_proof_that_needs_a_guard_is_told_apart() {
    let mut terms = Terms::new();
    let mut prover = prover();
    let (p, q) = (terms.variable(32), terms.variable(32));
    let two = terms.constant(32, 2);
    let same = terms.eq(p, q);
    let guard = terms.eq(q, two);
    let facts = Facts { always: vec![same], guards: vec![guard] };
    let goal = question(&[], Goal::Equal(p, two));
    assert_eq!(one(&mut prover, &mut terms, &facts, goal.clone()), Answer::Proven { with_guards: true });
    let found = prover.find_constants(
        &mut terms,
        &facts,
        &[Candidate { context: vec![], value: p }, Candidate { context: vec![same], value: q }],
    );
    assert_eq!(found, [Some(Constant { value: 2, with_guards: true }); 2]);
    // Not needed where something else proves it: also the core that Z3 gives may name it.
    let three = terms.constant(32, 3);
    let goal_below = question(&[guard], Goal::Different(p, three));
    assert_eq!(one(&mut prover, &mut terms, &facts, goal_below), PROVEN);
    // More facts: the same question needs the guard no longer.
    let facts = Facts { always: vec![same, guard], guards: vec![] };
    assert_eq!(one(&mut prover, &mut terms, &facts, goal), PROVEN);
}

#[test]
fn dead_code_is_told_apart() {
    let mut terms = Terms::new();
    let mut prover = prover();
    let (x, y, z) = (terms.variable(32), terms.variable(32), terms.variable(32));
    let less = terms.slt(x, y);
    let other = terms.slt(y, z);
    let back = terms.slt(z, x);
    let goal = Goal::Equal(x, y);
    let facts = Facts { always: vec![less, other], guards: vec![] };
    let answer = one(&mut prover, &mut terms, &facts, question(&[back], goal));
    assert_eq!(answer, Answer::Unreachable { with_guards: false });
    let facts = Facts { always: vec![less], guards: vec![other] };
    let answer = one(&mut prover, &mut terms, &facts, question(&[back], goal));
    assert_eq!(answer, Answer::Unreachable { with_guards: true });
    assert_eq!(
        prover.find_constants(&mut terms, &facts, &[Candidate { context: vec![back], value: z }]),
        [None]
    );
}

#[test]
fn what_was_proven_stays_when_facts_grow() {
    let mut terms = Terms::new();
    let mut prover = prover();
    let (x, y) = (terms.variable_keyed(32, 1), terms.variable_keyed(32, 2));
    let mut facts = Facts { always: vec![terms.slt(x, y)], guards: vec![] };
    let proven = question(&[], Goal::Different(x, y));
    let zero = terms.constant(32, 0);
    let open = question(&[], Goal::Different(x, zero));
    let xor = terms.xor(x, y);
    let hard = question(&[], Goal::Different(xor, zero));
    let batch = [proven, open, hard];
    let answers = prover.ask(&mut terms, &facts, &batch);
    assert_eq!(answers, [PROVEN, Answer::Refuted, PROVEN]);
    let checks = prover.stats().checks;
    prover.ask(&mut terms, &facts, &batch);
    assert_eq!(prover.stats().checks, checks);
    // The next round: the same keys, one more fact.
    let (x, zero) = (terms.variable_keyed(32, 1), terms.constant(32, 0));
    let more = terms.sgt(x, zero);
    facts.always.push(more);
    let cached = prover.stats().cached;
    assert_eq!(prover.ask(&mut terms, &facts, &batch), [PROVEN, PROVEN, PROVEN]);
    assert!(prover.stats().cached > cached);
    // Facts that were taken back take their conclusions with them.
    let facts = Facts::default();
    assert_eq!(prover.ask(&mut terms, &facts, &batch), [Answer::Refuted, Answer::Refuted, Answer::Refuted]);
}

#[test]
fn equations_are_used_before_the_solver() {
    let mut terms = Terms::new();
    let mut prover = prover();
    // p = base + 8 * i, i = j + 1, q = base + 8 * j: p is q + 8.
    let (base, p, q) = (terms.variable(64), terms.variable(64), terms.variable(64));
    let (i, j) = (terms.variable(64), terms.variable(64));
    let (eight, one_more) = (terms.constant(64, 8), terms.constant(64, 1));
    let mut place = |index| {
        let offset = terms.mul(index, eight);
        terms.add(base, offset)
    };
    let (of_i, of_j) = (place(i), place(j));
    let next = terms.add(j, one_more);
    let always = vec![terms.eq(p, of_i), terms.eq(i, next), terms.eq(q, of_j)];
    let facts = Facts { always, guards: vec![] };
    let goal = Goal::Disjoint { a: p, a_bytes: 8, b: q, b_bytes: 8 };
    assert_eq!(one(&mut prover, &mut terms, &facts, question(&[], goal)), PROVEN);
    assert_eq!(prover.stats().checks, 0);
}

#[test]
fn circular_equations_are_left_to_the_solver() {
    let mut terms = Terms::new();
    let mut prover = prover();
    let (x, y) = (terms.variable(8), terms.variable(8));
    let (double, one_more) = (terms.add(y, y), terms.constant(8, 1));
    let next = terms.xor(x, double);
    let always = vec![terms.eq(x, double), terms.eq(y, next)];
    let facts = Facts { always, guards: vec![] };
    // x = 2y, y = x ^ 2y = 0.
    let zero = terms.constant(8, 0);
    assert_eq!(one(&mut prover, &mut terms, &facts, question(&[], Goal::Equal(x, zero))), PROVEN);
    assert_eq!(one(&mut prover, &mut terms, &facts, question(&[], Goal::Different(x, one_more))), PROVEN);
    let wrong = terms.add(x, one_more);
    let facts = Facts { always: vec![terms.eq(x, y), terms.eq(y, wrong)], guards: vec![] };
    assert_eq!(prover.consistent(&mut terms, &facts), Consistency::No { core: vec![0, 1] });
}

#[test]
fn contradictory_facts_are_named() {
    let mut terms = Terms::new();
    let mut prover = prover();
    let v: Vec<Term> = (0..20).map(|_| terms.variable(32)).collect();
    let mut always: Vec<Term> = v.windows(2).map(|pair| terms.slt(pair[0], pair[1])).collect();
    let facts = Facts { always: always.clone(), guards: vec![] };
    assert_eq!(prover.consistent(&mut terms, &facts), Consistency::Yes);
    always.push(terms.slt(v[3], v[2]));
    let facts = Facts { always, guards: vec![terms.eq(v[0], v[1])] };
    match prover.consistent(&mut terms, &facts) {
        Consistency::No { core } => assert!(core == [2, 19] || core == [0, 20], "{core:?}"),
        other => panic!("{other:?}"),
    }
}

/// Factoring: no solver does it in the time given.
fn hopeless(terms: &mut Terms) -> Goal {
    let (x, y) = (terms.variable(64), terms.variable(64));
    let bound = terms.constant(64, 0xffff_ffff);
    let product = terms.mul(x, y);
    let semiprime = terms.constant(64, 4_294_967_291 * 4_294_967_279);
    let two = terms.constant(64, 2);
    let parts = [
        terms.ule(x, bound),
        terms.ule(y, bound),
        terms.uge(x, two),
        terms.uge(y, two),
        terms.eq(product, semiprime),
    ];
    let all = terms.all(&parts);
    Goal::Holds(terms.not(all))
}

#[test]
fn a_timeout_is_unknown_and_counted() {
    let mut terms = Terms::new();
    let limits = Limits { query: Duration::from_millis(60), total: Duration::from_secs(45) };
    let mut prover = Prover::with_threads(limits, 2);
    let goal = hopeless(&mut terms);
    let start = Instant::now();
    let answer = one(&mut prover, &mut terms, &Facts::default(), question(&[], goal));
    assert_eq!(answer, Answer::Unknown(Why::Time));
    assert_eq!(prover.stats().unknown, 1);
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[test]
fn after_the_budget_everything_is_unknown_at_once() {
    let mut terms = Terms::new();
    let limits = Limits { query: Duration::from_secs(2), total: Duration::from_millis(300) };
    let mut prover = Prover::with_threads(limits, 2);
    let goals: Vec<Question> = (0..40).map(|_| question(&[], hopeless(&mut terms))).collect();
    let start = Instant::now();
    let answers = prover.ask(&mut terms, &Facts::default(), &goals);
    // One that is under way may still find a counterexample.
    let unknown = answers.iter().filter(|&answer| *answer == Answer::Unknown(Why::Time)).count();
    assert!(unknown >= 30, "{answers:?}");
    assert!(
        answers.iter().all(|answer| matches!(answer, Answer::Unknown(Why::Time) | Answer::Refuted)),
        "{answers:?}"
    );
    assert_eq!(prover.stats().unknown, unknown as u64);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    // What needs no solver is still answered.
    let x = terms.variable(64);
    let answers = prover.ask(&mut terms, &Facts::default(), &[question(&[], Goal::Equal(x, x))]);
    assert_eq!(answers, [PROVEN]);
    let product = terms.mul(x, x);
    let answer = one(&mut prover, &mut terms, &Facts::default(), question(&[], Goal::Equal(product, x)));
    assert_eq!(answer, Answer::Unknown(Why::Time));
    let candidate = Candidate { context: vec![], value: product };
    assert_eq!(prover.find_constants(&mut terms, &Facts::default(), &[candidate]), [None]);
}

#[test]
fn an_unsatisfiable_slice_elsewhere_proves_nothing_here() {
    let mut terms = Terms::new();
    let mut prover = prover();
    let (x, y, z) = (terms.variable(32), terms.variable(32), terms.variable(32));
    let always = vec![terms.slt(x, y), terms.slt(y, x)];
    let facts = Facts { always, guards: vec![] };
    let zero = terms.constant(32, 0);
    assert_eq!(one(&mut prover, &mut terms, &facts, question(&[], Goal::Equal(z, zero))), Answer::Refuted);
    assert_eq!(
        one(&mut prover, &mut terms, &facts, question(&[], Goal::Equal(x, zero))),
        Answer::Unreachable { with_guards: false }
    );
}

#[test]
fn what_is_not_plain_is_found_later() {
    let mut terms = Terms::new();
    let t = &mut terms;
    let (x, y) = (t.variable(8), t.variable(8));
    let (two, seven) = (t.constant(8, 2), t.constant(8, 7));
    let facts = Facts { always: vec![], guards: vec![t.sle(x, two), t.sle(two, x)] };
    // No square has the remainder 7 modulo 8.
    let square = t.mul(y, y);
    let questions = [question(&[], Goal::Equal(x, two)), question(&[], Goal::Different(square, seven))];
    let mut prover = prover();
    prover.set_plain(true);
    let plain = prover.ask(t, &facts, &questions);
    assert_eq!(plain[0], Answer::Proven { with_guards: true });
    assert!(matches!(plain[1], Answer::Unknown(_)));
    assert_eq!((prover.stats().unknown, prover.stats().checks), (0, 0));
    prover.set_plain(false);
    assert_eq!(prover.ask(t, &facts, &questions), [Answer::Proven { with_guards: true }, PROVEN]);
}
