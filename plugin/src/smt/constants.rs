//! Which values are constant (Wu 4.2.2 and the first optimization of 4.3.2): a model gives each candidate a value;
//! then the solver is asked for a model in which one of many candidates has another one. Each such model drops all
//! candidates that differ in it, until there is none.

use super::cache::Key;
use super::check::{Assertion, Claim, InUse, Verdict};
use super::known::{Known, Slice};
use super::lemmas::Lemmas;
use super::parallel::each;
use super::prover::Prover;
use super::questions::Facts;
use super::session::{SliceId, Until};
use super::terms::{Term, Terms};
use super::walk::Wanted;
use super::z3::Differs;
use std::sync::Arc;
use std::time::Instant;

/// Candidates that are asked about together.
const CHUNK: usize = 64;

/// A value that may be constant.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What holds where the value is used; in models without it the value says nothing.
    pub context: Vec<Term>,
    /// The value.
    pub value: Term,
}

impl Candidate {
    fn roots(&self) -> impl Iterator<Item = Term> + '_ {
        self.context.iter().copied().chain([self.value])
    }
}

/// What a value always is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Constant {
    /// Its bits.
    pub value: u64,
    /// No proof was found that needs no guard.
    pub with_guards: bool,
}

/// A candidate whose value is not seen.
struct Pending {
    /// Its place among the candidates.
    at: usize,
    id: SliceId,
    slice: Arc<Slice>,
    context: Vec<Term>,
    value: Term,
    lemmas: Lemmas,
}

/// How a candidate ended, under the facts that were taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Constant(u64),
    /// Two values are possible, or none: the place is never reached.
    Not,
    Unknown,
}

impl Prover {
    /// For each candidate its constant, if it has one. Where its context is never fulfilled it has any, or none.
    pub fn find_constants(
        &mut self,
        terms: &mut Terms,
        facts: &Facts,
        candidates: &[Candidate],
    ) -> Vec<Option<Constant>> {
        let started = Instant::now();
        let until = self.until(started);
        let mut basis = self.enter(terms, facts);
        self.stats.queries += candidates.len() as u64;
        let mut constants: Vec<Option<Constant>> = vec![None; candidates.len()];
        let mut found: Vec<(usize, Found)> = Vec::new();
        let mut pending: Vec<Pending> = Vec::new();
        let mut cached = 0;
        for (at, candidate) in candidates.iter().enumerate() {
            let key = Key::new(&candidate.context, candidate.value);
            if let Some(kept) = self.cache.constant(&key) {
                cached += 1;
                constants[at] = kept;
                continue;
            }
            let Some(_) = basis.always.context(terms, &candidate.context) else { continue };
            let value = basis.always.substitution.apply(terms, candidate.value);
            if let Some(value) = basis.always.ranges.bounds(terms, value).constant() {
                constants[at] = Some(Constant { value, with_guards: false });
                continue;
            }
            let (under, known) = basis.whole();
            let Some(context) = known.context(terms, &candidate.context) else { continue };
            let value = known.substitution.apply(terms, candidate.value);
            if let Some(value) = known.ranges.bounds(terms, value).constant() {
                found.push((at, Found::Constant(value)));
                continue;
            }
            if until.left().is_none() {
                found.push((at, Found::Unknown));
                continue;
            }
            let roots: Vec<Term> = context.iter().copied().chain([value]).collect();
            let set = known.slices.touched(terms, roots.iter().copied());
            let slice = known.slice(terms, set);
            let lemmas = known.lemmas(terms, &roots, &slice);
            pending.push(Pending { at, id: (under, set), slice, context, value, lemmas });
        }
        let late = found.iter().filter(|(_, found)| *found == Found::Unknown).count();
        self.stats.fast += (candidates.len() - pending.len() - cached - late) as u64;
        self.stats.cached += cached as u64;
        found.extend(self.search(terms, basis.whole().1, pending, &until));
        // What is constant under all facts may be so under fewer.
        let mut open: Vec<(usize, u64)> = Vec::new();
        let mut claims: Vec<Key> = Vec::new();
        for (at, found) in found {
            let candidate = &candidates[at];
            let key = Key::new(&candidate.context, candidate.value);
            match found {
                Found::Constant(value) if !basis.touches_guards(terms, candidate.roots()) => {
                    constants[at] = Some(Constant { value, with_guards: false });
                    self.cache.keep_constant(key, constants[at]);
                }
                Found::Constant(value) => {
                    let constant = terms.constant(terms.width(candidate.value), value);
                    open.push((at, value));
                    claims.push(Key::new(&candidate.context, terms.eq(candidate.value, constant)));
                }
                Found::Not => self.cache.keep_constant(key, None),
                Found::Unknown => self.count_unknown(1),
            }
        }
        let hold = self.hold_always(terms, &mut basis, &claims, &until);
        for ((at, value), holds) in open.into_iter().zip(hold) {
            let constant = Some(Constant { value, with_guards: !holds });
            constants[at] = constant;
            if holds || !self.is_plain {
                self.cache.keep_constant(Key::new(&candidates[at].context, candidates[at].value), constant);
            }
        }
        self.leave(basis, started);
        constants
    }

    /// Searches for constants on all workers.
    fn search(
        &mut self,
        terms: &Terms,
        known: &Known,
        mut pending: Vec<Pending>,
        until: &Until,
    ) -> Vec<(usize, Found)> {
        pending.sort_by_key(|candidate| candidate.id);
        let chunk = pending.len().div_ceil(self.workers.len()).clamp(1, CHUNK);
        let jobs: Vec<&[Pending]> =
            pending.chunk_by(|a, b| a.id == b.id).flat_map(|same| same.chunks(chunk)).collect();
        let found = each(&mut self.workers, &jobs, |worker, job| {
            match worker.session(terms, job[0].id, &job[0].slice) {
                Ok(session) => Search::new(session, known, job, until).run(),
                Err(_) => job.iter().map(|candidate| (candidate.at, Found::Unknown, false)).collect(),
            }
        });
        let found: Vec<(usize, Found, bool)> = found.into_iter().flatten().collect();
        let given = found.iter().filter(|(_, _, by_solver)| *by_solver).count() as u64;
        self.stats.z3 += given;
        self.stats.fast += found.len() as u64 - given;
        found.into_iter().map(|(at, found, _)| (at, found)).collect()
    }
}

/// A search among candidates of one slice.
struct Search<'a, 'b> {
    session: InUse<'b>,
    known: &'a Known,
    candidates: &'a [Pending],
    until: &'a Until,
    /// By candidate, its value in the models so far in which its place is reached.
    values: Vec<Option<u64>>,
    found: Vec<Found>,
    by_solver: Vec<bool>,
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(
        session: InUse<'b>,
        known: &'a Known,
        candidates: &'a [Pending],
        until: &'a Until,
    ) -> Search<'a, 'b> {
        let count = candidates.len();
        let (values, found) = (vec![None; count], vec![Found::Not; count]);
        Search { session, known, candidates, until, values, found, by_solver: vec![false; count] }
    }

    fn run(mut self) -> Vec<(usize, Found, bool)> {
        let mut live: Vec<usize> = (0..self.candidates.len()).collect();
        if self.session.models() == 0 {
            self.session.finds(self.known, &[]);
        }
        for model in 0..self.session.models() {
            self.drop_by_model(&mut live, model);
        }
        self.drop_by_walks(&mut live);
        live.iter().for_each(|&at| self.by_solver[at] = true);
        let mut open: Vec<Vec<usize>> = vec![live];
        while let Some(live) = open.pop() {
            if let Some(halves) = self.settle(live) {
                open.extend(halves);
            }
        }
        let found = self.found.into_iter().zip(self.by_solver);
        self.candidates.iter().zip(found).map(|(of, (found, by_solver))| (of.at, found, by_solver)).collect()
    }

    /// Drops candidates that have another value in a model; whether the model told anything.
    fn drop_by_model(&mut self, live: &mut Vec<usize>, model: usize) -> bool {
        let (candidates, values) = (self.candidates, &mut self.values);
        let mut value_of = self.session.values(model);
        let before = live.len();
        let mut is_news = false;
        live.retain(|&at| {
            let candidate = &candidates[at];
            if !candidate.context.iter().all(|&holds| value_of(holds) == 1) {
                return true;
            }
            let value = value_of(candidate.value);
            is_news |= values[at].is_none();
            *values[at].get_or_insert(value) == value
        });
        is_news || live.len() < before
    }

    /// Walks to a model in which a candidate has another value, for each; such a model often drops others, too.
    fn drop_by_walks(&mut self, live: &mut Vec<usize>) {
        for at in live.clone().into_iter().rev() {
            // The first walk may be to a model in which its place is reached.
            for _ in 0..2 {
                if !live.contains(&at) || self.until.left().is_none() {
                    break;
                }
                let candidate = &self.candidates[at];
                let mut wanted: Vec<Wanted> = candidate.context.iter().copied().map(Wanted::Holds).collect();
                wanted.extend(self.values[at].map(|value| Wanted::Differs(candidate.value, value)));
                if !self.session.finds(self.known, &wanted) {
                    break;
                }
                self.drop_by_model(live, 0);
            }
        }
    }

    /// Asks the solver for a model in which one of the candidates differs, until there is none. Where it does not know,
    /// each half is to be asked about.
    fn settle(&mut self, mut live: Vec<usize>) -> Option<[Vec<usize>; 2]> {
        while !live.is_empty() {
            match self.one_differs(&live) {
                Verdict::Unsat => {
                    // A candidate without a value is never reached.
                    for at in live {
                        self.found[at] = self.values[at].map_or(Found::Not, Found::Constant);
                    }
                    return None;
                }
                Verdict::Unknown(_) if live.len() > 1 && self.session.models() > 0 => {
                    let half = live.split_off(live.len() / 2);
                    return Some([half, live]);
                }
                // Where not even the facts have a model in time, fewer candidates would not help.
                Verdict::Unknown(_) => {
                    live.iter().for_each(|&at| self.found[at] = Found::Unknown);
                    return None;
                }
                Verdict::Sat => {
                    if !self.drop_by_model(&mut live, 0) {
                        live.iter().for_each(|&at| self.found[at] = Found::Unknown);
                        return None;
                    }
                    self.drop_by_walks(&mut live);
                }
            }
        }
        None
    }

    fn one_differs(&mut self, live: &[usize]) -> Verdict {
        let candidates = self.candidates;
        let cases: Vec<Differs<'_>> = live
            .iter()
            .map(|&at| Differs {
                context: &candidates[at].context,
                value: self.values[at].map(|value| (candidates[at].value, value)),
            })
            .collect();
        let lemmas: Vec<Lemmas> = live.iter().map(|&at| candidates[at].lemmas.clone()).collect();
        let assertion = Assertion { claim: Claim::OneDiffers(&cases), lemmas: &lemmas };
        self.session.check(&assertion, self.until)
    }
}
