//! Models without the solver: a walk from an assignment to one that fulfils what is wanted. Each step takes one thing
//! that is not fulfilled and changes one variable so that it is (`aims.rs`), preferring the change that leaves the
//! least unfulfilled. Most questions that are refuted ask whether two addresses may be the same, and an index that
//! is free to move makes them so in one step.
//!
//! A walk that starts at a model of the facts knows which facts a change concerns: those with the changed variables.
//! All of them, and all that is wanted, are computed with real arithmetic at the end of each step; only where all
//! hold the walk has succeeded.

use super::aims::{Aims, Change, CHANGES};
use super::eval::Evaluator;
use super::near::Neighbourhood;
use super::terms::{Term, Terms};
use super::z3::Assignment;

/// Steps of one walk.
const STEPS: usize = 16;
/// Of so many steps one is not the best.
const NOISE: u64 = 5;
/// Facts of a start that is no model.
const BROKEN: usize = 3000;
/// Facts that a change may concern; changes of more are not tried. More are for a start, of which there are few.
const CONCERNED: usize = 1500;
const CONCERNED_AT_FIRST: usize = 30_000;

/// Something that must be so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Wanted {
    /// The boolean is true.
    Holds(Term),
    /// The boolean is false.
    Fails(Term),
    /// The term has another value.
    Differs(Term, u64),
}

/// What a walk looks at.
pub(super) struct Walk<'a> {
    pub terms: &'a Terms,
    /// All facts, and where their variables occur.
    pub facts: &'a [Term],
    pub neighbourhood: &'a Neighbourhood,
    pub wanted: &'a [Wanted],
}

impl Walk<'_> {
    /// From a model of the facts.
    pub fn starting_at(&self, model: &Assignment, evaluator: &mut Evaluator) -> Option<Assignment> {
        self.run(model, &[], evaluator)
    }

    /// From an assignment that may be none, to a model of `facts`, which no other facts share variables with.
    pub fn starting_anywhere(
        &self,
        start: &Assignment,
        facts: &[Term],
        evaluator: &mut Evaluator,
    ) -> Option<Assignment> {
        evaluator.restart(self.terms);
        let assign = |variable: Term| start.get(&variable).copied().unwrap_or(0);
        let broken: Vec<Term> = facts
            .iter()
            .copied()
            .filter(|&fact| evaluator.value(self.terms, fact, &assign) == 0)
            .take(BROKEN + 1)
            .collect();
        if broken.len() > BROKEN {
            return None;
        }
        self.run(start, &broken, evaluator)
    }

    fn run(&self, start: &Assignment, broken: &[Term], evaluator: &mut Evaluator) -> Option<Assignment> {
        let mut changed: Vec<Change> = Vec::new();
        let mut unmet = self.unmet(start, &changed, broken, evaluator)?;
        // Any sequence will do, if it is the same in each run and another from each start.
        let mut random = 0x9e37_79b9_7f4a_7c15u64 ^ start.values().fold(0, |all, value| all ^ value);
        random |= 1;
        for _ in 0..=STEPS {
            if unmet.is_empty() {
                let mut model = start.clone();
                model.extend(changed);
                return Some(model);
            }
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let aim = unmet[(random >> 8) as usize % unmet.len()];
            let mut best: Option<(Vec<Change>, Vec<Wanted>)> = None;
            let mut proposals = self.proposals(start, &changed, aim, evaluator);
            // Now and then another way than the best leads on.
            if random % NOISE == 0 && !proposals.is_empty() {
                proposals = vec![proposals[(random >> 32) as usize % proposals.len()]];
            }
            for (variable, value) in proposals {
                let mut next = changed.clone();
                match next.iter_mut().find(|change| change.0 == variable) {
                    Some(change) => change.1 = value,
                    None => next.push((variable, value)),
                }
                let Some(unmet) = self.unmet(start, &next, broken, evaluator) else { continue };
                if best.as_ref().is_none_or(|(_, least)| unmet.len() < least.len()) {
                    let is_done = unmet.is_empty();
                    best = Some((next, unmet));
                    if is_done {
                        break;
                    }
                }
            }
            (changed, unmet) = best?;
        }
        None
    }

    /// Changes that may fulfil one thing.
    fn proposals(
        &self,
        start: &Assignment,
        changed: &[Change],
        aim: Wanted,
        evaluator: &mut Evaluator,
    ) -> Vec<Change> {
        evaluator.restart(self.terms);
        let assign = |variable: Term| assigned(start, changed, variable);
        let value = &mut |term| evaluator.value(self.terms, term, &assign);
        let mut aims = Aims { terms: self.terms, value, changes: Vec::with_capacity(CHANGES) };
        match aim {
            Wanted::Holds(boolean) => aims.truth(boolean, true),
            Wanted::Fails(boolean) => aims.truth(boolean, false),
            Wanted::Differs(term, _) => aims.other(term),
        }
        aims.changes
    }

    /// What does not hold after some changes; None: too much is concerned.
    fn unmet(
        &self,
        start: &Assignment,
        changed: &[Change],
        broken: &[Term],
        evaluator: &mut Evaluator,
    ) -> Option<Vec<Wanted>> {
        let concerned: usize =
            changed.iter().map(|&(variable, _)| self.neighbourhood.touched(variable).len()).sum();
        let most = if broken.is_empty() { CONCERNED } else { CONCERNED_AT_FIRST };
        if concerned > most {
            return None;
        }
        evaluator.restart(self.terms);
        let assign = |variable: Term| assigned(start, changed, variable);
        let mut holds = |wanted: &Wanted| match *wanted {
            Wanted::Holds(boolean) => evaluator.value(self.terms, boolean, &assign) == 1,
            Wanted::Fails(boolean) => evaluator.value(self.terms, boolean, &assign) == 0,
            Wanted::Differs(term, value) => evaluator.value(self.terms, term, &assign) != value,
        };
        let mut unmet: Vec<Wanted> = self.wanted.iter().copied().filter(|wanted| !holds(wanted)).collect();
        for &fact in broken {
            let fact = Wanted::Holds(fact);
            if !holds(&fact) {
                unmet.push(fact);
            }
        }
        for &(variable, _) in changed {
            for place in self.neighbourhood.touched(variable) {
                let fact = Wanted::Holds(self.facts[place]);
                if !holds(&fact) {
                    unmet.push(fact);
                }
            }
        }
        unmet.sort_unstable();
        unmet.dedup();
        Some(unmet)
    }
}

fn assigned(start: &Assignment, changed: &[Change], variable: Term) -> u64 {
    match changed.iter().find(|change| change.0 == variable) {
        Some(change) => change.1,
        None => start.get(&variable).copied().unwrap_or(0),
    }
}
