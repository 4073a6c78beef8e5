//! Answers that are kept from round to round (Wu 4.3.2, second optimization). What was proven without guards follows
//! from the facts that always hold, and of these from such as share variables with the question, directly or through
//! other facts. It stays proven as long as all of those are among the facts, whatever else is added or taken away: must
//! and must-not results survive. (A term is the same formula in each round, so it does not matter here what its
//! variables stand for.) What was refuted, is unknown, or needed a guard may be answered better with other facts, and is
//! kept for the same facts only.

use super::constants::Constant;
use super::questions::{Answer, Facts};
use super::slices::Slices;
use super::terms::{Term, Terms};
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

/// Answers by question.
#[derive(Default)]
pub(super) struct Cache {
    always: Vec<Term>,
    guards: Vec<Term>,
    has_facts: bool,
    /// The facts contradict each other: what is proven from them need not hold when some are gone.
    pub is_contradictory: bool,
    answers: HashMap<Key, Answer>,
    constants: HashMap<Key, Option<Constant>>,
}

impl Cache {
    /// Takes note of the facts that the next answers belong to; true if they changed.
    pub fn enter(&mut self, terms: &Terms, facts: &Facts) -> bool {
        if self.has_facts && self.always == facts.always && self.guards == facts.guards {
            return false;
        }
        self.drop_stale(terms, facts);
        self.always.clone_from(&facts.always);
        self.guards.clone_from(&facts.guards);
        (self.has_facts, self.is_contradictory) = (true, false);
        true
    }

    /// Forgets what need not hold under the next facts.
    fn drop_stale(&mut self, terms: &Terms, next: &Facts) {
        self.answers.retain(|_, answer| lasts(answer));
        self.constants.retain(|_, constant| is_lasting(constant));
        let staying: HashSet<Term> = next.always.iter().copied().collect();
        let gone: Vec<usize> =
            (0..self.always.len()).filter(|&place| !staying.contains(&self.always[place])).collect();
        if gone.is_empty() {
            return;
        }
        let mut slices = Slices::of(terms, &self.always);
        if self.is_contradictory || gone.iter().any(|place| slices.ground().contains(place)) {
            self.answers.clear();
            self.constants.clear();
            return;
        }
        let stale: HashSet<u32> =
            gone.iter().filter_map(|&place| slices.component_of(self.always[place])).collect();
        let mut stays = |key: &Key| {
            let set = slices.touched(terms, key.context.iter().copied().chain([key.about]));
            slices.components(set).iter().all(|component| !stale.contains(component))
        };
        self.answers.retain(|key, _| stays(key));
        self.constants.retain(|key, _| stays(key));
    }

    /// An answer that still holds.
    pub fn answer(&self, key: &Key) -> Option<Answer> {
        self.answers.get(key).cloned()
    }

    /// Keeps an answer.
    pub fn keep(&mut self, key: Key, answer: Answer) {
        self.answers.insert(key, answer);
    }

    /// Whether a value is constant, if it is known.
    pub fn constant(&self, key: &Key) -> Option<Option<Constant>> {
        self.constants.get(key).copied()
    }

    /// Keeps what was found of a value.
    pub fn keep_constant(&mut self, key: Key, constant: Option<Constant>) {
        self.constants.insert(key, constant);
    }
}

/// An answer that more facts do not change.
fn lasts(answer: &Answer) -> bool {
    matches!(answer, Answer::Proven { with_guards: false } | Answer::Unreachable { with_guards: false })
}

fn is_lasting(constant: &Option<Constant>) -> bool {
    matches!(constant, Some(Constant { with_guards: false, .. }))
}
