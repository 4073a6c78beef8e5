//! stub
#![allow(missing_docs)]
mod affine; mod bits; mod bounds; mod convert; mod eval; mod logic; mod simplify; mod terms; mod z3;
mod interim;
pub use eval::Shown;
pub use terms::{Term, Terms};
pub use z3::Why;
pub use interim::*;
