//! What loom's pass tells the controller of a unit: [`covsched_core::loom::table`].
//!
//! - [`describe`]: the unit's table
//! - [`graph`]: a function's points, chains and accesses, from its blocks
//! - [`print`]: the pass `print<covsched-loom>`

pub mod describe;
pub mod graph;
pub mod print;
#[cfg(test)]
mod tests;
