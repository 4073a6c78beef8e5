//! Questions about terms under facts, answered in batches: by the cache, by intervals, by the solver, in this order.

use super::cache::{Cache, Key};
use super::equalities::{conjuncts, Substitution};
use super::lemmas::{Lemmas, Lemmatizer};
use super::parallel::each;
use super::ranges::Ranges;
use super::session::{Assertion, Claim, InUse, Reach, Slice, Until, Verdict, Worker};
use super::slices::{SetId, Slices};
use super::terms::{Term, Terms};
use super::z3::Why;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Questions that a worker takes at once.
const CHUNK: usize = 32;

/// Booleans that hold.
#[derive(Clone, Default, Debug)]
pub struct Facts {
    /// Unconditionally.
    pub always: Vec<Term>,
    /// Because a guard further down would stop the run otherwise: a proof that needs one of these is told apart.
    pub guards: Vec<Term>,
}

/// What is to be proven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// Both terms always have the same value.
    Equal(Term, Term),
    /// They never have.
    Different(Term, Term),
    /// `a_bytes` bytes from `a` on and `b_bytes` from `b` on have none in common.
    Disjoint {
        /// An address.
        a: Term,
        /// Bytes from there on.
        a_bytes: u64,
        /// Another address, of the same width.
        b: Term,
        /// Bytes from there on.
        b_bytes: u64,
    },
    /// The boolean holds.
    Holds(Term),
}

impl Goal {
    /// The goal as a boolean.
    pub fn claim(&self, terms: &mut Terms) -> Term {
        match *self {
            Goal::Equal(a, b) => terms.eq(a, b),
            Goal::Different(a, b) => terms.ne(a, b),
            Goal::Holds(boolean) => boolean,
            Goal::Disjoint { a, a_bytes, b, b_bytes } => {
                // The distance from a to b, going round, is at least a_bytes and at most 2^width - b_bytes. Where
                // nothing wraps this is what disjoint means, and it needs no more than the distance.
                let width = terms.width(a);
                let distance = terms.sub(b, a);
                if a_bytes == 0 || b_bytes == 0 {
                    return terms.boolean(true);
                }
                let room = (1u128 << width).checked_sub(u128::from(a_bytes) + u128::from(b_bytes));
                let Some(room) = room else { return terms.boolean(false) };
                let start = terms.constant(width, a_bytes);
                let beyond = terms.sub(distance, start);
                let room = terms.constant(width, room as u64);
                terms.ule(beyond, room)
            }
        }
    }
}

/// A goal at a place.
#[derive(Clone, Debug)]
pub struct Question {
    /// What holds whenever it is asked.
    pub context: Vec<Term>,
    /// What is to be proven there.
    pub goal: Goal,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It holds in every model of the facts, of all or of those that hold always.
    Proven {
        /// No proof was found that needs no guard.
        with_guards: bool,
    },
    /// The context contradicts the facts: the place is dead code, and everything holds there.
    Unreachable {
        /// Only with what guards say.
        with_guards: bool,
    },
    /// There is a model of all facts in which it does not hold.
    Refuted,
    /// Neither is known. Never to be taken for a proof.
    Unknown(Why),
}

/// How long may be searched.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For one check by the solver.
    pub query: Duration,
    /// For all calls of one [`Prover`] together.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { query: Duration::from_secs(2), total: Duration::from_secs(45) }
    }
}

/// What a prover has done.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Stats {
    /// Questions and candidates for constants.
    pub queries: u64,
    /// Of these: without an answer, mostly for a limit of time.
    pub unknown: u64,
    /// Answered by normal forms and intervals.
    pub fast: u64,
    /// Answered before.
    pub cached: u64,
    /// Given to the solver.
    pub z3: u64,
    /// Checks that the solver made.
    pub checks: u64,
    /// Time within the prover.
    pub seconds: f64,
}

/// The facts, prepared for questions.
pub(super) struct Known {
    pub substitution: Substitution,
    /// With definitions in place: those that hold always, then those of guards.
    pub facts: Vec<Term>,
    /// How many hold always.
    pub always: usize,
    pub ranges: Ranges,
    pub slices: Slices,
    made: HashMap<SetId, Arc<Slice>>,
    lemmatizer: Lemmatizer,
}

impl Known {
    fn new(terms: &mut Terms, facts: &Facts) -> Known {
        let (mut substitution, mut prepared) = Substitution::of(terms, &facts.always);
        let always = prepared.len();
        let guards: Vec<Term> = facts.guards.iter().map(|&guard| substitution.apply(terms, guard)).collect();
        let ranges = Ranges::of(terms, &prepared);
        prepared.extend(conjuncts(terms, &guards));
        let slices = Slices::of(terms, &prepared);
        Known {
            substitution,
            facts: prepared,
            always,
            ranges,
            slices,
            made: HashMap::new(),
            lemmatizer: Lemmatizer::default(),
        }
    }

    /// The facts of a set of components, with lemmas.
    pub fn slice(&mut self, terms: &mut Terms, set: SetId) -> Arc<Slice> {
        if let Some(known) = self.made.get(&set) {
            return known.clone();
        }
        let places = self.slices.facts(set);
        let (always, guards): (Vec<usize>, Vec<usize>) =
            places.into_iter().partition(|&place| place < self.always);
        let at = |places: Vec<usize>| places.into_iter().map(|place| self.facts[place]).collect::<Vec<_>>();
        let (always, guards) = (at(always), at(guards));
        let all: Vec<Term> = always.iter().chain(&guards).copied().collect();
        let lemmas = self.lemmatizer.lemmas(terms, &mut self.ranges, &all, None);
        self.ranges.add(terms, &lemmas.comparisons(terms));
        let slice = Arc::new(Slice { always, guards, lemmas });
        self.made.insert(set, slice.clone());
        slice
    }

    /// Lemmas about terms that a slice does not have.
    pub fn lemmas(&mut self, terms: &mut Terms, roots: &[Term], slice: &Slice) -> Lemmas {
        self.lemmatizer.lemmas(terms, &mut self.ranges, roots, Some(&slice.lemmas))
    }

    /// A context with definitions in place; None: it is never fulfilled.
    pub fn context(&mut self, terms: &mut Terms, context: &[Term]) -> Option<Vec<Term>> {
        let rewritten: Vec<Term> = context.iter().map(|&fact| self.substitution.apply(terms, fact)).collect();
        let mut facts = conjuncts(terms, &rewritten);
        facts.sort_unstable();
        facts.iter().all(|&fact| terms.as_constant(fact) != Some(0)).then_some(facts)
    }
}

/// Answers questions; lives across rounds.
pub struct Prover {
    pub(super) limits: Limits,
    pub(super) stats: Stats,
    pub(super) spent: Duration,
    pub(super) cache: Cache,
    pub(super) known: Option<Known>,
    pub(super) workers: Vec<Worker>,
}

/// A question for the solver.
struct Pending {
    key: Key,
    set: SetId,
    slice: Arc<Slice>,
    /// What holds where it is asked.
    context: Vec<Term>,
    claim: Term,
    /// The context and the negation of the claim.
    assertions: Vec<Term>,
    lemmas: [Lemmas; 1],
}

impl Prover {
    /// A prover that uses all cores.
    pub fn new(limits: Limits) -> Prover {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Prover::with_threads(limits, cores)
    }

    /// A prover that uses so many threads.
    pub fn with_threads(limits: Limits, threads: usize) -> Prover {
        Prover {
            limits,
            stats: Stats::default(),
            spent: Duration::ZERO,
            cache: Cache::default(),
            known: None,
            workers: (0..threads.max(1)).map(|_| Worker::new()).collect(),
        }
    }

    /// What was done so far.
    pub fn stats(&self) -> Stats {
        let checks = self.workers.iter().map(|worker| worker.checks).sum();
        Stats { checks, seconds: self.spent.as_secs_f64(), ..self.stats }
    }

    /// Prepares the facts, unless they are the last ones.
    pub(super) fn enter(&mut self, terms: &mut Terms, facts: &Facts) -> Known {
        let changed = self.cache.enter(facts);
        match self.known.take() {
            Some(known) if !changed => known,
            _ => {
                self.workers.iter_mut().for_each(Worker::forget);
                Known::new(terms, facts)
            }
        }
    }

    /// The time that is left.
    pub(super) fn until(&self, started: Instant) -> Until {
        Until { each: self.limits.query, end: started + self.limits.total.saturating_sub(self.spent) }
    }

    pub(super) fn leave(&mut self, known: Known, started: Instant) {
        self.known = Some(known);
        self.spent += started.elapsed();
    }

    /// Answers all questions, in their order.
    pub fn ask(&mut self, terms: &mut Terms, facts: &Facts, questions: &[Question]) -> Vec<Answer> {
        let started = Instant::now();
        let until = self.until(started);
        let mut known = self.enter(terms, facts);
        self.stats.queries += questions.len() as u64;
        let mut answers: Vec<Option<Answer>> = vec![None; questions.len()];
        let mut pending: Vec<Pending> = Vec::new();
        // Which of the pending ones answers a question.
        let mut places: Vec<(usize, usize)> = Vec::new();
        let mut by_key: HashMap<Key, usize> = HashMap::new();
        for (at, question) in questions.iter().enumerate() {
            let claim = question.goal.claim(terms);
            let key = Key::new(&question.context, claim);
            if let Some(&same) = by_key.get(&key) {
                places.push((at, same));
                self.stats.cached += 1;
            } else if let Some(answer) = self.cache.answer(&key) {
                self.stats.cached += 1;
                answers[at] = Some(answer);
            } else {
                match fast(terms, &mut known, key) {
                    Ok(answer) => {
                        self.stats.fast += 1;
                        answers[at] = Some(answer);
                    }
                    Err(question) => {
                        self.stats.z3 += 1;
                        by_key.insert(question.key.clone(), pending.len());
                        places.push((at, pending.len()));
                        pending.push(*question);
                    }
                }
            }
        }
        let found = self.solve(terms, &pending, &until);
        for (question, answer) in pending.into_iter().zip(&found) {
            self.cache.keep(question.key, answer.clone());
        }
        for (at, from) in places {
            answers[at] = Some(found[from].clone());
        }
        let answers: Vec<Answer> =
            answers.into_iter().map(|answer| answer.unwrap_or(Answer::Unknown(Why::Time))).collect();
        self.stats.unknown +=
            answers.iter().filter(|answer| matches!(answer, Answer::Unknown(_))).count() as u64;
        self.leave(known, started);
        answers
    }

    /// Gives questions to the workers, those of one slice and one context together.
    fn solve(&mut self, terms: &Terms, pending: &[Pending], until: &Until) -> Vec<Answer> {
        let mut order: Vec<usize> = (0..pending.len()).collect();
        order.sort_by(|&a, &b| {
            let key = |at: usize| (pending[at].set, &pending[at].context);
            key(a).cmp(&key(b))
        });
        let chunk = pending.len().div_ceil(self.workers.len() * 4).clamp(1, CHUNK);
        let jobs: Vec<&[usize]> = order
            .chunk_by(|&a, &b| pending[a].set == pending[b].set)
            .flat_map(|same| same.chunks(chunk))
            .collect();
        let results = each(&mut self.workers, &jobs, |worker, job| {
            let mut answers = Vec::with_capacity(job.len());
            for &at in *job {
                let question = &pending[at];
                let answer = match worker.session(terms, question.set, &question.slice) {
                    Ok(mut session) => answer(&mut session, question, until),
                    Err(why) => Answer::Unknown(why),
                };
                answers.push((at, answer));
            }
            answers
        });
        let mut answers = vec![Answer::Unknown(Why::Time); pending.len()];
        for (at, answer) in results.into_iter().flatten() {
            answers[at] = answer;
        }
        answers
    }
}

/// An answer without the solver, or the question for it.
fn fast(terms: &mut Terms, known: &mut Known, key: Key) -> Result<Answer, Box<Pending>> {
    let proven = Ok(Answer::Proven { with_guards: false });
    if terms.as_constant(key.about) == Some(1) {
        return proven;
    }
    let Some(context) = known.context(terms, &key.context) else {
        return Ok(Answer::Unreachable { with_guards: false });
    };
    let claim = known.substitution.apply(terms, key.about);
    match known.ranges.decide(terms, &context, claim) {
        Some(true) => return proven,
        // In a context that may be contradictory only the solver knows whether this is a counterexample.
        Some(false) if context.is_empty() => return Ok(Answer::Refuted),
        _ => {}
    }
    let mut assertions = context.clone();
    assertions.push(terms.not(claim));
    let set = known.slices.touched(terms, assertions.iter().copied());
    let slice = known.slice(terms, set);
    let lemmas = [known.lemmas(terms, &assertions, &slice)];
    if slice.lemmas.is_partial() || lemmas[0].is_partial() {
        let mut more = lemmas[0].comparisons(terms);
        more.extend_from_slice(&context);
        if known.ranges.decide(terms, &more, claim) == Some(true) {
            return proven;
        }
    }
    Err(Box::new(Pending { key, set, slice, context, claim, assertions, lemmas }))
}

fn answer(session: &mut InUse<'_>, question: &Pending, until: &Until) -> Answer {
    if session.has_model(&question.context, Some(question.claim)) {
        return Answer::Refuted;
    }
    let assertion = Assertion { claim: Claim::All(&question.assertions), lemmas: &question.lemmas };
    let used_guards = match session.check(&assertion, true, until) {
        Verdict::Sat => return Answer::Refuted,
        Verdict::Unknown(why) => return Answer::Unknown(why),
        Verdict::Unsat { used_guards } => used_guards,
    };
    // Z3's core may name the guards without need.
    let needs_guards =
        used_guards && !matches!(session.check(&assertion, false, until), Verdict::Unsat { .. });
    match reach(session, &question.context, &question.lemmas, until) {
        Reach::Never { with_guards } if !with_guards || needs_guards => Answer::Unreachable { with_guards },
        _ => Answer::Proven { with_guards: needs_guards },
    }
}

/// Whether a context can hold; found out once for each slice and worker.
fn reach(session: &mut InUse<'_>, context: &[Term], lemmas: &[Lemmas], until: &Until) -> Reach {
    if let Some(&known) = session.session.reached.get(context) {
        return known;
    }
    if session.has_model(context, None) {
        session.session.reached.insert(context.into(), Reach::Possible);
        return Reach::Possible;
    }
    let assertion = Assertion { claim: Claim::All(context), lemmas };
    let reach = match session.is_absurd(&assertion, true, until) {
        Some(used_guards) => {
            let with_guards = used_guards && session.is_absurd(&assertion, false, until).is_none();
            Reach::Never { with_guards }
        }
        None => Reach::Possible,
    };
    session.session.reached.insert(context.into(), reach);
    reach
}
