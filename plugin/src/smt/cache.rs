//! Answers that are kept from round to round (Wu 4.3.2, second optimization). Facts only grow, so what was proven
//! without guards stays proven: must and must-not results survive. What was refuted, is unknown, or needed a guard
//! may be answered better with more facts, and is kept for the same facts only.

use super::constants::Constant;
use super::prover::{Answer, Facts};
use super::terms::Term;
use std::collections::{HashMap, HashSet};

/// A question: what holds where it is asked, ascending, and what is claimed or valued there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Key {
    pub context: Box<[Term]>,
    pub about: Term,
}

impl Key {
    pub fn new(context: &[Term], about: Term) -> Key {
        let mut context = context.to_vec();
        context.sort_unstable();
        context.dedup();
        Key { context: context.into(), about }
    }
}

/// The facts' changes that answers belong to.
type Generation = u32;

/// Answers by question.
#[derive(Default)]
pub(super) struct Cache {
    always: Vec<Term>,
    guards: Vec<Term>,
    generation: Generation,
    answers: HashMap<Key, (Answer, Generation)>,
    constants: HashMap<Key, (Option<Constant>, Generation)>,
}

impl Cache {
    /// Takes note of the facts that the next answers belong to; true if they changed.
    pub fn enter(&mut self, facts: &Facts) -> bool {
        if self.generation > 0 && self.always == facts.always && self.guards == facts.guards {
            return false;
        }
        let now: HashSet<Term> = facts.always.iter().copied().collect();
        if !self.always.iter().all(|fact| now.contains(fact)) {
            self.answers.clear();
            self.constants.clear();
        }
        self.always.clone_from(&facts.always);
        self.guards.clone_from(&facts.guards);
        self.generation += 1;
        true
    }

    /// An answer that still holds.
    pub fn answer(&self, key: &Key) -> Option<Answer> {
        let (answer, since) = self.answers.get(key)?;
        let lasts = matches!(
            answer,
            Answer::Proven { with_guards: false } | Answer::Unreachable { with_guards: false }
        );
        (lasts || *since == self.generation).then(|| answer.clone())
    }

    /// Keeps an answer.
    pub fn keep(&mut self, key: Key, answer: Answer) {
        self.answers.insert(key, (answer, self.generation));
    }

    /// Whether a value is constant, if it is known.
    pub fn constant(&self, key: &Key) -> Option<Option<Constant>> {
        let (constant, since) = self.constants.get(key)?;
        let lasts = matches!(constant, Some(Constant { with_guards: false, .. }));
        (lasts || *since == self.generation).then_some(*constant)
    }

    /// Keeps what was found of a value.
    pub fn keep_constant(&mut self, key: Key, constant: Option<Constant>) {
        self.constants.insert(key, (constant, self.generation));
    }
}
