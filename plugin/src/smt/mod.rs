//! Terms and the solver.

mod affine;
mod bits;
mod bounds;
mod cache;
mod consistency;
mod constants;
mod convert;
mod equalities;
mod eval;
mod lemmas;
mod logic;
mod order;
mod parallel;
mod prover;
mod ranges;
mod session;
mod simplify;
mod slices;
mod terms;
#[cfg(test)]
mod tests;
mod z3;

pub use consistency::Consistency;
pub use constants::{Candidate, Constant};
pub use eval::Shown;
pub use prover::{Answer, Facts, Goal, Limits, Prover, Question, Stats};
pub use terms::{Term, Terms};
pub use z3::Why;
