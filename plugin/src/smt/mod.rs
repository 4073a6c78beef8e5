//! Terms and the solver. The only place that names Z3.
//!
//! A term is a bit-vector expression of 1 to 64 bits with SMT-LIB's meaning: a number in a pool ([`Terms`]), in normal form,
//! so that equal addresses are the same number. [`Prover`] answers questions about terms under facts, in batches; unknown is
//! never a proof. In this order, the first that knows answers:
//!
//! 1. normal forms, when terms are made (`simplify`, `widths`, `logic`, `affine`, `bounds`);
//! 2. the cache: what was proven without guards stays proven while the facts that it can depend on stay; all else is kept
//!    for the same facts only (`cache`);
//! 3. equations of facts used up (`equalities`), intervals (`ranges`), linear inequalities (`linear`), what is true of
//!    products and quotients (`lemmas`), disjunctions case by case (`near`): a proof, or nothing;
//! 4. models of earlier questions, and walks from these to others (`walk`, `aims`): a counterexample, or nothing;
//! 5. Z3 with the facts near the question, then with all that share variables with it (`slices`): first with products and
//!    quotients as unknowns that are corrected where they are wrong, then as they are (`check`, `convert`, `z3`).
//!
//! Facts of guards take part like others (`known`); what is proven so is asked again without them. A model counts only if
//! facts and claim, computed by `eval`, say so. Contradictory facts prove everything: `consistency` finds that out.
//!
//! Wu's four speed-ups (4.3.2): constants are searched by counterexamples (`constants`); must and must-not answers survive
//! rounds (`cache`); equalities are used up by substitution, which does more than union-find (`equalities`); independent
//! questions go to all cores (`parallel`). Each worker has a Z3 of its own, with a solver and models for each slice that it
//! met lately (`session`), and shares nothing but the pool of terms, which nobody changes meanwhile.
//!
//! Limits: what Z3 would need seconds to translate is not given to it as a whole, since it does not look at its time limit
//! then; walks and inequalities are short searches. What is left is unknown, for lack of time.

mod affine;
mod aims;
mod bits;
mod bounds;
mod cache;
mod check;
mod consistency;
mod constants;
mod convert;
mod equalities;
mod eval;
mod groups;
mod known;
mod lemmas;
mod linear;
mod logic;
mod near;
mod parallel;
mod prover;
mod questions;
mod ranges;
mod session;
mod simplify;
mod slices;
mod terms;
#[cfg(test)]
mod tests;
mod walk;
mod widths;
mod z3;

pub use consistency::Consistency;
pub use constants::{Candidate, Constant};
pub use eval::Shown;
pub use prover::Prover;
pub use questions::{Answer, Facts, Goal, Limits, Question, Stats};
pub use terms::{Term, Terms};
pub use z3::Why;
