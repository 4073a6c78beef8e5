//! What a caller asks and is told.

use super::terms::{Term, Terms};
use super::z3::Why;
use std::time::Duration;

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
                // The distance from a to b, going round, is at least a_bytes and at most 2^width - b_bytes. So ranges
                // that go beyond the last address go on at the first one, and it needs no more than the distance.
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
    /// A model of all facts that have to do with it was found in which it does not hold; or, without a context, it
    /// fails in every model. (That facts have a model is [`super::Prover::consistent`]'s to say.)
    Refuted,
    /// Neither is known. Never to be taken for a proof.
    Unknown(Why),
    /// It was not looked for: another question of its group is not proven.
    Moot,
}

impl Answer {
    /// It holds wherever it is asked; what cannot happen does, too.
    pub fn is_proven(&self) -> bool {
        matches!(self, Answer::Proven { .. } | Answer::Unreachable { .. })
    }

    /// So it does, by what guards say.
    pub fn needs_guards(&self) -> bool {
        matches!(self, Answer::Proven { with_guards: true } | Answer::Unreachable { with_guards: true })
    }
}

/// How long may be searched.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For one check by the solver.
    pub query: Duration,
    /// For all calls of one [`super::Prover`] together.
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
    /// Answered without Z3: by normal forms, intervals and chains of inequalities, or by a model that was found by
    /// changing another one.
    pub fast: u64,
    /// Answered before.
    pub cached: u64,
    /// Given to Z3.
    pub z3: u64,
    /// Checks that Z3 made.
    pub checks: u64,
    /// Time within the prover.
    pub seconds: f64,
}
