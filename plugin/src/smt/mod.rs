//! Terms and the solver.

mod affine;
mod bits;
mod bounds;
mod convert;
mod eval;
mod logic;
mod simplify;
mod terms;
#[cfg(test)]
mod tests;
mod z3;

pub use eval::Shown;
pub use terms::{Term, Terms};
pub use z3::Why;
