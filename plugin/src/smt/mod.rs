//! Terms and the solver.

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
mod z3;

pub use consistency::Consistency;
pub use constants::{Candidate, Constant};
pub use eval::Shown;
pub use prover::Prover;
pub use questions::{Answer, Facts, Goal, Limits, Question, Stats};
pub use terms::{Term, Terms};
pub use z3::Why;
