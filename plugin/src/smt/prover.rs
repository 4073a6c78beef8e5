//! Questions about terms under facts, answered in batches.
//!
//! A question goes through these, until one answers: the cache; normal forms, intervals and cases, under the facts that
//! hold always ([`prepare`]); the same under all facts; models under all facts, found before or by a walk; the solver
//! under all facts. What was proven so is asked again under the facts that hold always, to know whether guards are needed.

use super::cache::{Cache, Key};
use super::check::{Assertion, Claim, InUse, Verdict};
use super::known::{Basis, Known, Slice, Under};
use super::lemmas::Lemmas;
use super::parallel::each;
use super::questions::{Answer, Facts, Limits, Question, Stats};
use super::session::{SliceId, Until, Worker};
use super::terms::{Term, Terms};
use super::walk::Wanted;
use super::z3::Why;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Questions that a worker takes at once.
const CHUNK: usize = 32;
/// How long after the end what needs no solver is still answered.
const GRACE: Duration = Duration::from_secs(1);

/// Answers questions; lives across rounds.
pub struct Prover {
    limits: Limits,
    pub(super) stats: Stats,
    spent: Duration,
    pub(super) cache: Cache,
    basis: Option<Basis>,
    pub(super) workers: Vec<Worker>,
}

/// What follows from the facts that were taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Finding {
    Proven,
    Unreachable,
    Refuted,
    Unknown(Why),
}

/// A question that is not answered by looking.
struct Pending {
    id: SliceId,
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
            basis: None,
            workers: (0..threads.max(1)).map(|_| Worker::new()).collect(),
        }
    }

    /// What was done so far.
    pub fn stats(&self) -> Stats {
        Stats { checks: self.checks(), seconds: self.spent.as_secs_f64(), ..self.stats }
    }

    fn checks(&self) -> u64 {
        self.workers.iter().map(|worker| worker.checks).sum()
    }

    /// Prepares the facts, unless they are the last ones.
    pub(super) fn enter(&mut self, terms: &mut Terms, facts: &Facts) -> Basis {
        let changed = self.cache.enter(terms, facts);
        match self.basis.take() {
            Some(basis) if !changed => basis,
            _ => {
                self.workers.iter_mut().for_each(Worker::forget);
                let basis = Basis::new(terms, facts);
                self.cache.is_contradictory = basis.always.is_absurd(terms);
                basis
            }
        }
    }

    /// The time that is left.
    pub(super) fn until(&self, started: Instant) -> Until {
        Until { each: self.limits.query, end: started + self.limits.total.saturating_sub(self.spent) }
    }

    pub(super) fn leave(&mut self, basis: Basis, started: Instant) {
        self.basis = Some(basis);
        self.spent += started.elapsed();
    }

    /// Answers all questions, in their order.
    pub fn ask(&mut self, terms: &mut Terms, facts: &Facts, questions: &[Question]) -> Vec<Answer> {
        let started = Instant::now();
        let until = self.until(started);
        let mut basis = self.enter(terms, facts);
        self.stats.queries += questions.len() as u64;
        let mut answers: Vec<Option<Answer>> = vec![None; questions.len()];
        let mut keys: Vec<Key> = Vec::new();
        // Which of the keys answers a question.
        let mut places: Vec<(usize, usize)> = Vec::new();
        let mut by_key: HashMap<Key, usize> = HashMap::new();
        for (at, question) in questions.iter().enumerate() {
            let claim = question.goal.claim(terms);
            let plain = match terms.as_constant(claim) {
                Some(1) => Some(Answer::Proven { with_guards: false }),
                Some(_) if question.context.is_empty() => Some(Answer::Refuted),
                _ => None,
            };
            if plain.is_some() {
                answers[at] = plain;
                self.stats.fast += 1;
                continue;
            }
            let key = Key::new(&question.context, claim);
            answers[at] = self.cache.answer(&key);
            if answers[at].is_some() {
                self.stats.cached += 1;
            } else if let Some(&same) = by_key.get(&key) {
                places.push((at, same));
                self.stats.cached += 1;
            } else {
                by_key.insert(key.clone(), keys.len());
                places.push((at, keys.len()));
                keys.push(key);
            }
        }
        let found = self.answer(terms, &mut basis, &keys, &until);
        for (at, from) in places {
            answers[at] = Some(found[from].clone());
        }
        for (key, answer) in keys.into_iter().zip(found) {
            self.cache.keep(key, answer);
        }
        let answers: Vec<Answer> =
            answers.into_iter().map(|answer| answer.unwrap_or(Answer::Unknown(Why::Time))).collect();
        self.stats.unknown +=
            answers.iter().filter(|answer| matches!(answer, Answer::Unknown(_))).count() as u64;
        self.leave(basis, started);
        answers
    }

    /// Answers questions that the cache does not know.
    fn answer(&mut self, terms: &mut Terms, basis: &mut Basis, keys: &[Key], until: &Until) -> Vec<Answer> {
        let mut asked: Vec<Asked> = Vec::with_capacity(keys.len());
        for key in keys {
            let free = prepare(terms, &mut basis.always, Under::Always, key, until);
            let roots = key.context.iter().copied().chain([key.about]);
            let needs_all = matches!(free, State::Open(_)) && basis.touches_guards(terms, roots);
            let all = basis.all.as_mut().filter(|_| needs_all);
            let whole = all.map(|all| prepare(terms, all, Under::All, key, until));
            asked.push(Asked { free, whole });
        }
        let first = asked.iter_mut().map(|asked| asked.whole.as_mut().unwrap_or(&mut asked.free));
        self.settle(terms, basis, first.collect(), until);
        // What was proven under all facts may follow from fewer.
        let again = asked.iter_mut().filter(|asked| asked.whole.as_ref().is_some_and(State::is_proven));
        self.settle_again(terms, basis, again.map(|asked| &mut asked.free).collect(), until);
        let mut answers = Vec::with_capacity(asked.len());
        for asked in asked {
            let was_given = asked.was_given();
            let answer = asked.answer();
            self.stats.z3 += u64::from(was_given);
            self.stats.fast += u64::from(!was_given && !matches!(answer, Answer::Unknown(_)));
            answers.push(answer);
        }
        answers
    }

    /// Whether these hold, under the facts that hold always.
    pub(super) fn hold_always(
        &mut self,
        terms: &mut Terms,
        basis: &mut Basis,
        keys: &[Key],
        until: &Until,
    ) -> Vec<bool> {
        let mut states: Vec<State> =
            keys.iter().map(|key| prepare(terms, &mut basis.always, Under::Always, key, until)).collect();
        self.settle_again(terms, basis, states.iter_mut().collect(), until);
        states.iter().map(State::is_proven).collect()
    }

    /// Finds out what is open.
    fn settle(&mut self, terms: &mut Terms, basis: &mut Basis, states: Vec<&mut State>, until: &Until) {
        let mut open: Vec<(&mut State, Box<Pending>)> = Vec::new();
        for state in states {
            let unknown = State::Found { finding: Finding::Unknown(Why::Time), by_solver: false };
            match std::mem::replace(state, unknown) {
                State::Open(pending) => open.push((state, pending)),
                found => *state = found,
            }
        }
        // Those of one slice and one context after each other.
        open.sort_by(|(_, a), (_, b)| (a.id, &a.context).cmp(&(b.id, &b.context)));
        let (mut states, pending): (Vec<&mut State>, Vec<Box<Pending>>) = open.into_iter().unzip();
        // Most that is not so is refuted by a model that is found without the solver.
        let items: Vec<(&Pending, ())> = pending.iter().map(|pending| (&**pending, ())).collect();
        let refuted = self.on_workers(terms, &items, |session, asked, ()| {
            session.is_ok_and(|mut session| {
                until.left().is_some() && is_refuted(&mut session, basis.known(asked.id.0), asked)
            })
        });
        let mut left: Vec<usize> = Vec::new();
        let mut items: Vec<(&Pending, Option<Slice>)> = Vec::new();
        for (at, is_refuted) in refuted.into_iter().enumerate() {
            let asked = &pending[at];
            if is_refuted {
                *states[at] = State::Found { finding: Finding::Refuted, by_solver: false };
            } else if until.left().is_some() {
                left.push(at);
                items.push((asked, basis.under(asked.id.0).near(terms, &asked.assertions, &asked.slice)));
            }
        }
        let found = self.on_workers(terms, &items, |session, asked, near| match session {
            Ok(mut session) => prove(&mut session, asked, near.as_ref(), until),
            Err(why) => Finding::Unknown(why),
        });
        for (at, finding) in left.into_iter().zip(found) {
            *states[at] = State::Found { finding, by_solver: true };
        }
    }

    /// The same for what is asked again, with less time.
    fn settle_again(&mut self, terms: &mut Terms, basis: &mut Basis, states: Vec<&mut State>, until: &Until) {
        let open = states.iter().filter(|state| matches!(state, State::Open(_))).count();
        self.settle(terms, basis, states, &until.shared_by(open));
    }

    /// Gives questions to the workers, those of one slice together, each with the session of its slice.
    fn on_workers<T: Sync, R: Send>(
        &mut self,
        terms: &Terms,
        items: &[(&Pending, T)],
        run: impl Fn(Result<InUse<'_>, Why>, &Pending, &T) -> R + Sync,
    ) -> Vec<R> {
        let chunk = items.len().div_ceil(self.workers.len() * 4).clamp(1, CHUNK);
        let jobs: Vec<&[(&Pending, T)]> =
            items.chunk_by(|a, b| a.0.id == b.0.id).flat_map(|same| same.chunks(chunk)).collect();
        let results = each(&mut self.workers, &jobs, |worker, job| {
            let mut results = Vec::with_capacity(job.len());
            for (asked, with) in *job {
                results.push(run(worker.session(terms, asked.id, &asked.slice), asked, with));
            }
            results
        });
        results.into_iter().flatten().collect()
    }
}

/// How far a question has come, under some facts.
enum State {
    Found { finding: Finding, by_solver: bool },
    Open(Box<Pending>),
}

impl State {
    /// It was found to hold.
    fn is_proven(&self) -> bool {
        matches!(self, State::Found { finding: Finding::Proven | Finding::Unreachable, .. })
    }
}

/// A question under the facts that hold always, and under all facts if guards may matter.
struct Asked {
    free: State,
    whole: Option<State>,
}

impl Asked {
    /// The solver took part.
    fn was_given(&self) -> bool {
        let is_given = |state: &State| matches!(state, State::Found { by_solver: true, .. });
        is_given(&self.free) || self.whole.as_ref().is_some_and(is_given)
    }

    fn answer(self) -> Answer {
        let finding = |state| match state {
            State::Found { finding, .. } => finding,
            State::Open(_) => Finding::Unknown(Why::Time),
        };
        match (finding(self.free), self.whole.map(finding)) {
            (Finding::Proven, _) => Answer::Proven { with_guards: false },
            (Finding::Unreachable, _) => Answer::Unreachable { with_guards: false },
            (_, Some(Finding::Proven)) => Answer::Proven { with_guards: true },
            (_, Some(Finding::Unreachable)) => Answer::Unreachable { with_guards: true },
            // A model of the facts that hold always is none of all facts.
            (_, Some(Finding::Refuted)) | (Finding::Refuted, None) => Answer::Refuted,
            (_, Some(Finding::Unknown(why))) | (Finding::Unknown(why), None) => Answer::Unknown(why),
        }
    }
}

/// What is seen without the solver, or what it must be asked.
fn prepare(terms: &mut Terms, known: &mut Known, under: Under, key: &Key, until: &Until) -> State {
    let found = |finding| State::Found { finding, by_solver: false };
    if terms.as_constant(key.about) == Some(1) {
        return found(Finding::Proven);
    }
    if Instant::now() > until.end + GRACE {
        return found(Finding::Unknown(Why::Time));
    }
    let Some(context) = known.context(terms, &key.context) else {
        return found(Finding::Unreachable);
    };
    let claim = known.substitution.apply(terms, key.about);
    match known.ranges.decide(terms, &context, claim) {
        Some(true) => return found(Finding::Proven),
        // In a context that may be contradictory only a model shows that it fails.
        Some(false) if context.is_empty() => return found(Finding::Refuted),
        _ => {}
    }
    if until.left().is_none() {
        return found(Finding::Unknown(Why::Time));
    }
    let mut assertions = context.clone();
    assertions.push(terms.not(claim));
    let set = known.slices.touched(terms, assertions.iter().copied());
    let slice = known.slice(terms, set);
    let lemmas = [known.lemmas(terms, &assertions, &slice)];
    let mut more = lemmas[0].comparisons(terms);
    more.extend_from_slice(&context);
    let alternatives = known.neighbourhood.alternatives(terms, &known.facts, &context, claim);
    if known.ranges.holds_in_all_cases(terms, &mut more, claim, &alternatives) {
        return found(Finding::Proven);
    }
    State::Open(Box::new(Pending { id: (under, set), slice, context, claim, assertions, lemmas }))
}

/// A model in which the claim fails is known, or found by a walk.
fn is_refuted(session: &mut InUse<'_>, known: &Known, question: &Pending) -> bool {
    if session.has_model(&question.context, Some(question.claim)) {
        return true;
    }
    let mut wanted: Vec<Wanted> = question.context.iter().copied().map(Wanted::Holds).collect();
    wanted.push(Wanted::Fails(question.claim));
    session.finds(known, &wanted)
}

/// Asks the solver.
fn prove(session: &mut InUse<'_>, question: &Pending, near: Option<&Slice>, until: &Until) -> Finding {
    let is_near = near.is_some_and(|near| session.is_proven_near(near, &question.assertions, until));
    if !is_near {
        let assertion = Assertion { claim: Claim::All(&question.assertions), lemmas: &question.lemmas };
        match session.check(&assertion, until) {
            Verdict::Sat => return Finding::Refuted,
            Verdict::Unknown(why) => return Finding::Unknown(why),
            Verdict::Unsat => {}
        }
    }
    match is_dead(session, question, until) {
        true => Finding::Unreachable,
        false => Finding::Proven,
    }
}

/// Whether the context contradicts the facts; found out once for each slice and worker.
fn is_dead(session: &mut InUse<'_>, question: &Pending, until: &Until) -> bool {
    let context = &question.context[..];
    if let Some(&known) = session.session.absurd.get(context) {
        return known;
    }
    let assertion = Assertion { claim: Claim::All(context), lemmas: &question.lemmas };
    let is_dead = !session.has_model(context, None) && session.is_absurd(&assertion, until);
    session.session.absurd.insert(context.into(), is_dead);
    is_dead
}
