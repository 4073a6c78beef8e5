//! Random facts and questions over three variables of four bits, with all 4096 assignments tried out.

use super::super::terms::{Term, Terms};
use super::super::{Answer, Candidate, Consistency, Constant, Facts, Goal, Limits, Prover, Question};
use super::programs::{run, variables, Sample, Step};
use super::terms::{number, steps};
use proptest::prelude::*;
use std::time::Duration;

const WIDTHS: [u32; 4] = [1, 4, 5, 8];

/// Terms with their values under every assignment.
pub struct World {
    pub terms: Terms,
    pub samples: Vec<Sample>,
}

impl World {
    pub fn new(steps: &[Step]) -> World {
        let assignments: Vec<Vec<u64>> =
            (0..4096u64).map(|all| vec![all & 15, all >> 4 & 15, all >> 8]).collect();
        let mut terms = Terms::new();
        let start = variables(&mut terms, &[4, 4, 4], &assignments);
        let samples = run(&mut terms, start, steps, &WIDTHS);
        World { terms, samples }
    }

    /// One of the terms.
    pub fn sample(&self, at: u8) -> Sample {
        self.samples[usize::from(at) % self.samples.len()].clone()
    }

    /// A boolean made of the sample at `at`.
    pub fn boolean(&mut self, at: u8, with: u64) -> (Term, Vec<bool>) {
        let sample = self.samples[usize::from(at) % self.samples.len()].clone();
        let width = self.terms.width(sample.term);
        if width == 1 {
            let flip = with & 1 == 1;
            let term = if flip { self.terms.not(sample.term) } else { sample.term };
            return (term, sample.values.iter().map(|&value| (value == 1) != flip).collect());
        }
        // A comparison with one of its own values, so that it is neither always true nor always false.
        let bound = sample.values[with as usize % 4096];
        let bound_term = self.terms.constant(width, bound);
        let (term, holds): (Term, &dyn Fn(u64) -> bool) = match with >> 12 & 3 {
            0 => (self.terms.eq(sample.term, bound_term), &|value| value == bound),
            1 => (self.terms.ule(sample.term, bound_term), &|value| value <= bound),
            2 => (self.terms.ne(sample.term, bound_term), &|value| value != bound),
            _ => (self.terms.ugt(sample.term, bound_term), &|value| value > bound),
        };
        (term, sample.values.iter().map(|&value| holds(value)).collect())
    }

    /// Booleans that hold together with what holds already.
    fn consistent(&mut self, picks: &[(u8, u64)], holds: &mut [bool]) -> Vec<Term> {
        let mut facts = Vec::new();
        for &(at, with) in picks {
            let (mut fact, mut values) = self.boolean(at, with);
            if !values.iter().zip(&*holds).any(|(&value, &holds)| value && holds) {
                fact = self.terms.not(fact);
                values.iter_mut().for_each(|value| *value = !*value);
            }
            holds.iter_mut().zip(&values).for_each(|(holds, &value)| *holds &= value);
            facts.push(fact);
        }
        facts
    }
}

type Pick = (u8, u64);

fn picks(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Pick>> {
    prop::collection::vec((any::<u8>(), any::<u64>()), count)
}

/// Time enough on a busy machine, also for what gets only a part of it.
fn patient() -> Limits {
    Limits { query: Duration::from_secs(60), total: Duration::from_secs(600) }
}

/// One thread and several, asked in one batch or one by one, give the same.
fn ask(world: &mut World, facts: &Facts, questions: &[Question]) -> Vec<Answer> {
    let limits = patient();
    let mut alone = Prover::with_threads(limits, 1);
    let answers = alone.ask(&mut world.terms, facts, questions);
    let mut several = Prover::with_threads(limits, 3);
    assert_eq!(answers, several.ask(&mut world.terms, facts, questions), "parallel is sequential");
    let mut single = Prover::with_threads(limits, 1);
    for (question, answer) in questions.iter().zip(&answers) {
        let again = single.ask(&mut world.terms, facts, std::slice::from_ref(question));
        assert_eq!(&again[0], answer, "one by one");
    }
    let mut grouped = Prover::with_threads(limits, 3);
    for size in [2, 5] {
        let groups: Vec<&[Question]> = questions.chunks(size).collect();
        let together = grouped.ask_together(&mut world.terms, facts, &groups);
        for (together, alone) in together.iter().zip(answers.chunks(size)) {
            let is_moot = !alone.iter().all(Answer::is_proven);
            let same = |(a, b): (&Answer, &Answer)| a == b || (is_moot && *a == Answer::Moot);
            assert!(together.iter().zip(alone).all(same), "in a group: {together:?}, alone: {alone:?}");
            assert_eq!(together.iter().all(Answer::is_proven), !is_moot);
        }
    }
    let before = several.stats();
    assert_eq!(answers, several.ask(&mut world.terms, facts, questions), "from the cache");
    assert_eq!(several.stats().checks, before.checks);
    answers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn answers_are_those_of_brute_force(
        program in steps(14),
        always in picks(0..4),
        guards in picks(0..3),
        asked in prop::collection::vec((picks(0..3), any::<u8>(), any::<u8>(), number()), 1..12),
    ) {
        let mut world = World::new(&program);
        let mut always_holds = vec![true; 4096];
        let always = world.consistent(&always, &mut always_holds);
        let mut all_hold = always_holds.clone();
        let guards = world.consistent(&guards, &mut all_hold);
        let facts = Facts { always, guards };
        let mut questions = Vec::new();
        let mut truths = Vec::new();
        for (context, a, b, kind) in asked {
            let mut reached = vec![true; 4096];
            let mut terms = Vec::new();
            for (at, with) in context {
                let (term, values) = world.boolean(at, with);
                reached.iter_mut().zip(&values).for_each(|(reached, &value)| *reached &= value);
                terms.push(term);
            }
            let pick = |at: u8| world.samples[usize::from(at) % world.samples.len()].clone();
            let (left, right) = (pick(a), pick(b));
            let same_width = world.terms.width(left.term) == world.terms.width(right.term);
            let pairs = || left.values.iter().zip(&right.values);
            let (goal, holds): (Goal, Vec<bool>) = match kind % 4 {
                0 if same_width => {
                    (Goal::Equal(left.term, right.term), pairs().map(|(a, b)| a == b).collect())
                }
                1 if same_width => {
                    (Goal::Different(left.term, right.term), pairs().map(|(a, b)| a != b).collect())
                }
                2 if same_width => {
                    let (a_bytes, b_bytes) = (1 + kind / 4 % 3, 1 + kind / 16 % 3);
                    let size = 1u64 << world.terms.width(left.term);
                    let overlap = |a: u64, b: u64| {
                        (0..a_bytes).any(|i| (0..b_bytes).any(|j| (a + i) % size == (b + j) % size))
                    };
                    let goal = Goal::Disjoint { a: left.term, a_bytes, b: right.term, b_bytes };
                    (goal, pairs().map(|(&a, &b)| !overlap(a, b)).collect())
                }
                _ => {
                    let (term, values) = world.boolean(a, kind);
                    (Goal::Holds(term), values)
                }
            };
            questions.push(Question { context: terms, goal });
            truths.push((reached, holds));
        }
        let answers = ask(&mut world, &facts, &questions);
        for ((question, answer), (reached, holds)) in questions.iter().zip(answers).zip(truths) {
            let exists = |facts: &[bool], test: &dyn Fn(usize) -> bool| (0..4096).any(|at| facts[at] && test(at));
            let fails = |at: usize| reached[at] && !holds[at];
            let reaches = |at: usize| reached[at];
            let (fails_free, fails_all) = (exists(&always_holds, &fails), exists(&all_hold, &fails));
            let (reaches_free, reaches_all) = (exists(&always_holds, &reaches), exists(&all_hold, &reaches));
            let expected = if fails_all {
                vec![Answer::Refuted]
            } else if !reaches_free {
                vec![Answer::Unreachable { with_guards: false }, Answer::Proven { with_guards: false }]
            } else if !fails_free {
                vec![Answer::Proven { with_guards: false }]
            } else if !reaches_all {
                // That a place is dead is found without multipliers and dividers only.
                vec![Answer::Unreachable { with_guards: true }, Answer::Proven { with_guards: true }]
            } else {
                vec![Answer::Proven { with_guards: true }]
            };
            prop_assert!(expected.contains(&answer), "{:?}: {:?}, not {:?}", question, answer, expected);
        }
    }

    #[test]
    fn constants_are_those_of_brute_force(
        program in steps(20),
        always in picks(0..5),
        guards in picks(0..3),
        contexts in prop::collection::vec(picks(0..2), 20),
    ) {
        let mut world = World::new(&program);
        let mut always_holds = vec![true; 4096];
        let always = world.consistent(&always, &mut always_holds);
        let mut all_hold = always_holds.clone();
        let guards = world.consistent(&guards, &mut all_hold);
        let facts = Facts { always, guards };
        let mut candidates = Vec::new();
        let mut expected = Vec::new();
        for (sample, context) in world.samples.clone().into_iter().zip(contexts) {
            let mut reached = vec![true; 4096];
            let mut terms = Vec::new();
            for (at, with) in context {
                let (term, values) = world.boolean(at, with);
                reached.iter_mut().zip(&values).for_each(|(reached, &value)| *reached &= value);
                terms.push(term);
            }
            let constant = |facts: &[bool]| {
                let mut values = (0..4096).filter(|&at| facts[at] && reached[at]).map(|at| sample.values[at]);
                let first = values.next()?;
                values.all(|value| value == first).then_some(first)
            };
            let with_guards = constant(&always_holds).is_none();
            let constant = constant(&all_hold).map(|value| Constant { value, with_guards });
            // A constant in dead code is as good as none.
            let dead = !(0..4096).any(|at| all_hold[at] && reached[at]);
            candidates.push(Candidate { context: terms, value: sample.term });
            expected.push((constant, dead));
        }
        for threads in [1, 2] {
            let mut prover = Prover::with_threads(patient(), threads);
            for _ in 0..2 {
                let found = prover.find_constants(&mut world.terms, &facts, &candidates);
                for ((candidate, found), (expected, dead)) in candidates.iter().zip(found).zip(&expected) {
                    let fits = found == *expected || *dead;
                    prop_assert!(fits, "{:?}: {:?}, not {:?}", candidate, found, expected);
                }
            }
        }
    }

    #[test]
    fn contradictions_are_found_with_their_core(
        program in steps(12),
        always in picks(1..6),
        guards in picks(0..3),
    ) {
        let mut world = World::new(&program);
        let mut all: Vec<(Term, Vec<bool>)> = Vec::new();
        for &(at, with) in always.iter().chain(&guards) {
            all.push(world.boolean(at, with));
        }
        let terms = |range: &[(Term, Vec<bool>)]| range.iter().map(|(term, _)| *term).collect::<Vec<_>>();
        let facts = Facts { always: terms(&all[..always.len()]), guards: terms(&all[always.len()..]) };
        let holds = |of: &[usize]| (0..4096).any(|at| of.iter().all(|&fact| all[fact].1[at]));
        let mut prover = Prover::with_threads(patient(), 2);
        match prover.consistent(&mut world.terms, &facts) {
            Consistency::Yes => prop_assert!(holds(&(0..all.len()).collect::<Vec<_>>())),
            Consistency::No { core } => {
                prop_assert!(!core.is_empty() && !holds(&core), "{:?} is no contradiction", core);
            }
            Consistency::Unknown => prop_assert!(false, "not decided"),
        }
    }

    /// Facts come and go; what was proven under some of them is not claimed under others from which it does not follow.
    #[test]
    fn answers_follow_from_the_facts_of_their_round(
        program in steps(10),
        pool in picks(1..6),
        rounds in prop::collection::vec((any::<u8>(), any::<u8>()), 2..6),
        claims in picks(1..8),
    ) {
        let mut world = World::new(&program);
        let pool: Vec<(Term, Vec<bool>)> = pool.iter().map(|&(at, with)| world.boolean(at, with)).collect();
        let claims: Vec<(Term, Vec<bool>)> = claims.iter().map(|&(at, with)| world.boolean(at, with)).collect();
        let questions: Vec<Question> =
            claims.iter().map(|(term, _)| Question { context: vec![], goal: Goal::Holds(*term) }).collect();
        let candidates: Vec<Candidate> =
            world.samples.iter().map(|sample| Candidate { context: vec![], value: sample.term }).collect();
        let mut prover = Prover::with_threads(patient(), 1);
        for (always, guards) in rounds {
            let chosen = |mask: u8| (0..pool.len()).filter(move |at| mask >> at & 1 == 1);
            let terms = |mask: u8| chosen(mask).map(|at| pool[at].0).collect::<Vec<Term>>();
            let facts = Facts { always: terms(always), guards: terms(guards) };
            let holds = |mask: u8| -> Vec<bool> {
                (0..4096).map(|all| chosen(mask).all(|at| pool[at].1[all])).collect()
            };
            let (free, whole) = (holds(always), holds(always | guards));
            let answers = prover.ask(&mut world.terms, &facts, &questions);
            for ((_, values), answer) in claims.iter().zip(answers) {
                let follows = |from: &[bool]| (0..4096).all(|all| !from[all] || values[all]);
                match answer {
                    Answer::Proven { with_guards } | Answer::Unreachable { with_guards } => {
                        let from = if with_guards { &whole } else { &free };
                        prop_assert!(follows(from), "with guards: {}", with_guards);
                    }
                    Answer::Refuted => prop_assert!(!follows(&whole) || !whole.contains(&true)),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            let constants = prover.find_constants(&mut world.terms, &facts, &candidates);
            for (sample, constant) in world.samples.iter().zip(constants) {
                let Some(Constant { value, with_guards }) = constant else { continue };
                let from = if with_guards { &whole } else { &free };
                prop_assert!((0..4096).all(|all| !from[all] || sample.values[all] == value));
            }
        }
    }
}
