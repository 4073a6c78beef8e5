//! Data-flow specialization (Wu 4.2.2).
//!
//! - [`places`]: who runs what, and which steps of the schedule are over meanwhile
//! - [`between`]: what executes before what, and what may execute between two instructions
//! - [`conditions`]: what branches and guards say where an instruction executes

pub mod between;
pub mod conditions;
pub mod places;
#[cfg(test)]
pub(crate) mod testing;
