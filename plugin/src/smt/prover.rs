//! Questions about terms under facts, answered in batches.
//!
//! A question goes through these, until one answers: the cache; normal forms, intervals and cases, under the facts that
//! hold always ([`prepare`]); the same under all facts; models under all facts, found before or by a walk; the solver
//! under all facts. What was proven so is asked again under the facts that hold always, to know whether guards are needed.

use super::cache::{Cache, Key};
use super::check::{Assertion, Claim, InUse, Verdict};
use super::groups::Groups;
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
    /// The solver is not asked: what is not found may still be so.
    pub(super) is_plain: bool,
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
    Moot,
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
            is_plain: false,
            stats: Stats::default(),
            spent: Duration::ZERO,
            cache: Cache::default(),
            basis: None,
            workers: (0..threads.max(1)).map(|_| Worker::new()).collect(),
        }
    }

    /// From now on, answers what is plain to see without the solver, and counts nothing as unknown; or all again.
    pub fn set_plain(&mut self, is_plain: bool) {
        self.is_plain = is_plain;
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
        let each = if self.is_plain { Duration::ZERO } else { self.limits.query };
        Until { each, end: started + self.limits.total.saturating_sub(self.spent) }
    }

    pub(super) fn leave(&mut self, basis: Basis, started: Instant) {
        self.basis = Some(basis);
        self.spent += started.elapsed();
    }

    /// Answers all questions, in their order.
    pub fn ask(&mut self, terms: &mut Terms, facts: &Facts, questions: &[Question]) -> Vec<Answer> {
        let groups: Vec<&[Question]> = questions.iter().map(std::slice::from_ref).collect();
        self.ask_together(terms, facts, &groups).into_iter().flatten().collect()
    }

    /// Answers the questions of groups in which all must be proven, or none matters: where one is not, others of its
    /// group may be [`Answer::Moot`].
    pub fn ask_together(
        &mut self,
        terms: &mut Terms,
        facts: &Facts,
        questions: &[&[Question]],
    ) -> Vec<Vec<Answer>> {
        let started = Instant::now();
        let until = self.until(started);
        let mut basis = self.enter(terms, facts);
        let mut groups = Groups::new(questions.len());
        let mut answers: Vec<Vec<Answer>> = Vec::with_capacity(questions.len());
        let mut keys: Vec<Key> = Vec::new();
        // Which of the keys answers a question of a group.
        let mut places: Vec<(usize, usize, usize)> = Vec::new();
        let mut by_key: HashMap<Key, usize> = HashMap::new();
        for (group, questions) in questions.iter().enumerate() {
            self.stats.queries += questions.len() as u64;
            let mut found = vec![Answer::Moot; questions.len()];
            let mut open: Vec<(usize, Key)> = Vec::new();
            for (at, question) in questions.iter().enumerate() {
                let claim = question.goal.claim(terms);
                let key = Key::new(&question.context, claim);
                match self.look_up(terms, &key) {
                    Some(answer) => {
                        let is_lost = !answer.is_proven();
                        found[at] = answer;
                        if is_lost {
                            groups.lose(group);
                            break;
                        }
                    }
                    None => open.push((at, key)),
                }
            }
            answers.push(found);
            if groups.is_lost(group) {
                continue;
            }
            for (at, key) in open {
                let same = *by_key.entry(key.clone()).or_insert(keys.len());
                if same == keys.len() {
                    keys.push(key);
                } else {
                    self.stats.cached += 1;
                }
                groups.want(same, group);
                places.push((group, at, same));
            }
        }
        let found = self.answer(terms, &mut basis, &keys, &groups, &until);
        for (group, at, from) in places {
            answers[group][at] = found[from].clone();
        }
        for (key, answer) in keys.into_iter().zip(found) {
            let is_open = matches!(answer, Answer::Unknown(_)) || answer.needs_guards();
            if answer != Answer::Moot && !(self.is_plain && is_open) {
                self.cache.keep(key, answer);
            }
        }
        let unknown = answers.iter().flatten().filter(|answer| matches!(answer, Answer::Unknown(_))).count();
        self.count_unknown(unknown);
        self.leave(basis, started);
        answers
    }

    pub(super) fn count_unknown(&mut self, unknown: usize) {
        if !self.is_plain {
            self.stats.unknown += unknown as u64;
        }
    }

    /// What is seen at once, or was answered before.
    fn look_up(&mut self, terms: &Terms, key: &Key) -> Option<Answer> {
        let plain = match terms.as_constant(key.about) {
            Some(1) => Some(Answer::Proven { with_guards: false }),
            Some(_) if key.context.is_empty() => Some(Answer::Refuted),
            _ => None,
        };
        if plain.is_some() {
            self.stats.fast += 1;
            return plain;
        }
        let cached = self.cache.answer(key);
        self.stats.cached += u64::from(cached.is_some());
        cached
    }

    /// Answers questions that the cache does not know.
    fn answer(
        &mut self,
        terms: &mut Terms,
        basis: &mut Basis,
        keys: &[Key],
        groups: &Groups,
        until: &Until,
    ) -> Vec<Answer> {
        let mut asked: Vec<Asked> = Vec::with_capacity(keys.len());
        for (number, key) in keys.iter().enumerate() {
            if groups.is_moot(number) {
                asked.push(Asked { free: State::moot(), whole: None });
                continue;
            }
            let free = prepare(terms, &mut basis.always, Under::Always, key, until);
            let roots = key.context.iter().copied().chain([key.about]);
            let needs_all = !free.is_decided() && basis.touches_guards(terms, roots);
            let all = basis.all.as_mut().filter(|_| needs_all);
            let whole = all.map(|all| prepare(terms, all, Under::All, key, until));
            if whole.as_ref().unwrap_or(&free).has_failed() {
                groups.fails(number);
            }
            asked.push(Asked { free, whole });
        }
        let first = asked.iter_mut().map(|asked| asked.whole.as_mut().unwrap_or(&mut asked.free));
        self.settle(terms, basis, first.enumerate().collect(), groups, until);
        // What was proven under all facts may follow from fewer.
        let mut again: Vec<&mut State> = Vec::new();
        for (number, asked) in asked.iter_mut().enumerate() {
            if asked.whole.as_ref().is_some_and(State::is_proven) {
                if groups.is_moot(number) {
                    // Half an answer is none to be kept.
                    *asked = Asked { free: State::moot(), whole: None };
                } else {
                    again.push(&mut asked.free);
                }
            }
        }
        self.settle_again(terms, basis, again, until);
        let mut answers = Vec::with_capacity(asked.len());
        for asked in asked {
            let was_given = asked.was_given();
            let answer = asked.answer();
            self.stats.z3 += u64::from(was_given);
            let is_answer = !matches!(answer, Answer::Unknown(_) | Answer::Moot);
            self.stats.fast += u64::from(!was_given && is_answer);
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

    /// Finds out what is open, as far as groups want to know it. States come with their question's number.
    fn settle(
        &mut self,
        terms: &mut Terms,
        basis: &mut Basis,
        states: Vec<(usize, &mut State)>,
        groups: &Groups,
        until: &Until,
    ) {
        let mut open: Vec<(usize, &mut State, Box<Pending>)> = Vec::new();
        for (number, state) in states {
            match std::mem::replace(state, State::moot()) {
                State::Open(pending) if !groups.is_moot(number) => open.push((number, state, pending)),
                State::Open(_) => {}
                found => *state = found,
            }
        }
        // Those of one slice and one context after each other.
        open.sort_by(|(.., a), (.., b)| (a.id, &a.context).cmp(&(b.id, &b.context)));
        // Most that is not so is refuted by a model that is found without the solver.
        let items: Vec<(&Pending, usize)> =
            open.iter().map(|(number, _, asked)| (&**asked, *number)).collect();
        let refuted = self.on_workers(terms, &items, |session, asked, &number| {
            let is_refuted = !groups.is_moot(number)
                && until.left().is_some()
                && session.is_ok_and(|mut session| is_refuted(&mut session, basis.known(asked.id.0), asked));
            if is_refuted {
                groups.fails(number);
            }
            is_refuted
        });
        let mut left: Vec<(usize, &mut State, Box<Pending>)> = Vec::new();
        for ((number, state, asked), is_refuted) in open.into_iter().zip(refuted) {
            if is_refuted {
                *state = State::Found { finding: Finding::Refuted, by_solver: false };
            } else if until.left().is_none() {
                *state = State::Found { finding: Finding::Unknown(Why::Time), by_solver: false };
            } else if !groups.is_moot(number) {
                left.push((number, state, asked));
            }
        }
        let items: Vec<(&Pending, (usize, Option<Slice>))> = left
            .iter()
            .map(|(number, _, asked)| {
                let near = basis.under(asked.id.0).near(terms, &asked.assertions, &asked.slice);
                (&**asked, (*number, near))
            })
            .collect();
        let found = self.on_workers(terms, &items, |session, asked, (number, near)| {
            if groups.is_moot(*number) {
                return Finding::Moot;
            }
            let finding = match session {
                Ok(mut session) => prove(&mut session, basis.known(asked.id.0), asked, near.as_ref(), until),
                Err(why) => Finding::Unknown(why),
            };
            if !matches!(finding, Finding::Proven | Finding::Unreachable) {
                groups.fails(*number);
            }
            finding
        });
        for ((_, state, _), finding) in left.into_iter().zip(found) {
            *state = State::Found { by_solver: finding != Finding::Moot, finding };
        }
    }

    /// The same for what is asked again, each for itself, with less time.
    fn settle_again(&mut self, terms: &mut Terms, basis: &mut Basis, states: Vec<&mut State>, until: &Until) {
        let open = states.iter().filter(|state| matches!(state, State::Open(_))).count();
        let groups = Groups::apart(states.len());
        let states = states.into_iter().enumerate().collect();
        self.settle(terms, basis, states, &groups, &until.shared_by(open));
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
    fn moot() -> State {
        State::Found { finding: Finding::Moot, by_solver: false }
    }

    /// It is known.
    fn is_decided(&self) -> bool {
        self.is_proven() || matches!(self, State::Found { finding: Finding::Refuted, .. })
    }

    /// It was found not to hold, or will not be known.
    fn has_failed(&self) -> bool {
        matches!(self, State::Found { finding: Finding::Refuted | Finding::Unknown(_), .. })
    }

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
            (_, Some(Finding::Moot)) | (Finding::Moot, None) => Answer::Moot,
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

/// Asks the solver. Its models for the questions before this one may be where a walk ends that led nowhere at first.
fn prove(
    session: &mut InUse<'_>,
    known: &Known,
    question: &Pending,
    near: Option<&Slice>,
    until: &Until,
) -> Finding {
    if session.models() > 0 && is_refuted(session, known, question) {
        return Finding::Refuted;
    }
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
