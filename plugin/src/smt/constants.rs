//! Which values are constant (Wu 4.2.2 and the first optimization of 4.3.2): a model gives each candidate a value;
//! then the solver is asked for a model in which one of many candidates has another one. Each such model drops all
//! candidates that differ in it, until there is none.

use super::cache::Key;
use super::lemmas::Lemmas;
use super::parallel::each;
use super::prover::{Facts, Prover};
use super::session::{Assertion, Claim, InUse, Slice, Until, Verdict};
use super::slices::SetId;
use super::terms::{Term, Terms};
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

/// What a value always is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Constant {
    /// Its bits.
    pub value: u64,
    /// No proof was found that needs no guard.
    pub with_guards: bool,
}

/// A candidate for the solver.
struct Pending {
    at: usize,
    key: Key,
    set: SetId,
    slice: Arc<Slice>,
    context: Vec<Term>,
    value: Term,
    lemmas: Lemmas,
}

/// How a candidate ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Constant(Constant),
    /// Two values are possible, or none: the place is never reached.
    Not,
    Unknown,
}

impl Prover {
    /// For each candidate its constant, if it has one. None also where its context is never fulfilled.
    pub fn find_constants(
        &mut self,
        terms: &mut Terms,
        facts: &Facts,
        candidates: &[Candidate],
    ) -> Vec<Option<Constant>> {
        let started = Instant::now();
        let until = self.until(started);
        let mut known = self.enter(terms, facts);
        self.stats.queries += candidates.len() as u64;
        let mut constants: Vec<Option<Constant>> = vec![None; candidates.len()];
        let mut pending: Vec<Pending> = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            let plain = terms.as_constant(candidate.value);
            let key = Key::new(&candidate.context, candidate.value);
            if let Some(value) = plain {
                self.stats.fast += 1;
                constants[at] = Some(Constant { value, with_guards: false });
                continue;
            }
            if let Some(kept) = self.cache.constant(&key) {
                self.stats.cached += 1;
                constants[at] = kept;
                continue;
            }
            let Some(context) = known.context(terms, &candidate.context) else {
                self.stats.fast += 1;
                continue;
            };
            let value = known.substitution.apply(terms, candidate.value);
            if let Some(value) = known.ranges.bounds(terms, value).constant() {
                self.stats.fast += 1;
                constants[at] = Some(Constant { value, with_guards: false });
                continue;
            }
            self.stats.z3 += 1;
            let roots: Vec<Term> = context.iter().copied().chain([value]).collect();
            let set = known.slices.touched(terms, roots.iter().copied());
            let slice = known.slice(terms, set);
            let lemmas = known.lemmas(terms, &roots, &slice);
            pending.push(Pending { at, key, set, slice, context, value, lemmas });
        }
        pending.sort_by_key(|candidate| candidate.set);
        let chunk = pending.len().div_ceil(self.workers.len()).clamp(1, CHUNK);
        let jobs: Vec<&[Pending]> =
            pending.chunk_by(|a, b| a.set == b.set).flat_map(|same| same.chunks(chunk)).collect();
        let terms: &Terms = terms;
        let found = each(&mut self.workers, &jobs, |worker, job| {
            match worker.session(terms, job[0].set, &job[0].slice) {
                Ok(session) => Search { session, candidates: job, until: &until }.run(),
                Err(_) => vec![Found::Unknown; job.len()],
            }
        });
        let found: Vec<Found> = found.into_iter().flatten().collect();
        for (candidate, found) in pending.into_iter().zip(found) {
            match found {
                Found::Constant(constant) => {
                    constants[candidate.at] = Some(constant);
                    self.cache.keep_constant(candidate.key, Some(constant));
                }
                Found::Not => self.cache.keep_constant(candidate.key, None),
                Found::Unknown => self.stats.unknown += 1,
            }
        }
        self.leave(known, started);
        constants
    }
}

struct Search<'a, 'b> {
    session: InUse<'b>,
    candidates: &'a [Pending],
    until: &'a Until,
}

impl Search<'_, '_> {
    fn run(mut self) -> Vec<Found> {
        let count = self.candidates.len();
        let mut found = vec![Found::Not; count];
        let mut values: Vec<Option<u64>> = vec![None; count];
        // Constants under all facts, and whether the proof left the guards aside.
        let mut proven: Vec<(usize, bool)> = Vec::new();
        let mut open: Vec<Vec<usize>> = vec![(0..count).collect()];
        while let Some(mut live) = open.pop() {
            loop {
                match self.one_differs(&live, &values, true) {
                    Verdict::Unsat { used_guards } => {
                        proven.extend(live.iter().map(|&at| (at, !used_guards)));
                        break;
                    }
                    Verdict::Unknown(_) if live.len() > 1 => {
                        let half = live.split_off(live.len() / 2);
                        open.extend([half, live]);
                        break;
                    }
                    Verdict::Unknown(_) => {
                        live.iter().for_each(|&at| found[at] = Found::Unknown);
                        break;
                    }
                    Verdict::Sat => {
                        let before = live.len();
                        let mut is_news = false;
                        let candidates = self.candidates;
                        let mut value_of = self.session.values();
                        live.retain(|&at| {
                            let candidate = &candidates[at];
                            if !candidate.context.iter().all(|&holds| value_of(holds) == 1) {
                                return true;
                            }
                            let value = value_of(candidate.value);
                            is_news |= values[at].is_none();
                            *values[at].get_or_insert(value) == value
                        });
                        drop(value_of);
                        if live.is_empty() {
                            break;
                        }
                        if live.len() == before && !is_news {
                            // Z3's model is none by our arithmetic. Nothing may be concluded from it.
                            live.iter().for_each(|&at| found[at] = Found::Unknown);
                            break;
                        }
                    }
                }
            }
        }
        // A candidate without a value is never reached.
        proven.retain(|&(at, _)| values[at].is_some());
        let tainted: Vec<usize> = proven.iter().filter(|(_, free)| !free).map(|&(at, _)| at).collect();
        let needs = self.which_need_guards(tainted, &values);
        for (at, _) in proven {
            if let Some(value) = values[at] {
                found[at] = Found::Constant(Constant { value, with_guards: needs.contains(&at) });
            }
        }
        found
    }

    /// Those of the constants for which no proof without guards is found.
    fn which_need_guards(&mut self, tainted: Vec<usize>, values: &[Option<u64>]) -> Vec<usize> {
        let mut needs = Vec::new();
        let mut open = vec![tainted];
        while let Some(mut live) = open.pop() {
            while !live.is_empty() {
                match self.one_differs(&live, values, false) {
                    Verdict::Unsat { .. } => break,
                    Verdict::Sat => {
                        let before = live.len();
                        let candidates = self.candidates;
                        let mut value_of = self.session.values();
                        live.retain(|&at| {
                            let candidate = &candidates[at];
                            let differs = candidate.context.iter().all(|&holds| value_of(holds) == 1)
                                && Some(value_of(candidate.value)) != values[at];
                            if differs {
                                needs.push(at);
                            }
                            !differs
                        });
                        drop(value_of);
                        if live.len() == before {
                            needs.append(&mut live);
                        }
                    }
                    Verdict::Unknown(_) if live.len() > 1 => {
                        let half = live.split_off(live.len() / 2);
                        open.push(half);
                    }
                    Verdict::Unknown(_) => needs.append(&mut live),
                }
            }
        }
        needs
    }

    fn one_differs(&mut self, live: &[usize], values: &[Option<u64>], with_guards: bool) -> Verdict {
        let candidates = self.candidates;
        let cases: Vec<Differs<'_>> = live
            .iter()
            .map(|&at| Differs {
                context: &candidates[at].context,
                value: values[at].map(|value| (candidates[at].value, value)),
            })
            .collect();
        let lemmas: Vec<Lemmas> = live.iter().map(|&at| candidates[at].lemmas.clone()).collect();
        let assertion = Assertion { claim: Claim::OneDiffers(&cases), lemmas: &lemmas };
        self.session.check(&assertion, with_guards, self.until)
    }
}
