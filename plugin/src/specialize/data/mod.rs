//! Data-flow specialization (Wu 4.2.2): values that the schedule fixes become constants, across threads, until nothing
//! changes.
//!
//! A round looks at a snapshot of the program: pointers ([`crate::analysis::points_to`]), who runs what and before what
//! ([`places`]), registers as terms ([`values`]), conditions that hold ([`facts`]), what loads read ([`defs`]), and asks the
//! solver which registers are constant ([`constants`]). Then the program is changed ([`rounds`]): constants take the
//! place of their registers, branches fold, loops with a constant number of iterations unroll, and the next round sees
//! more. Before the first, calls get copies of small functions to themselves ([`copies`]), so that what they do belongs
//! to one thread and one place.
//!
//! Only transformations that keep every memory access that may execute are used, unless `aggressive` asks for LLVM's
//! optimizers.
//!
//! Limits: code that several threads or places share is known by its effects only. What a thread returns to its joiner is
//! not followed. Floats and vectors are not.

pub mod between;
pub mod conditions;
pub mod constants;
pub mod copies;
pub mod defs;
pub mod facts;
pub mod memory;
pub mod oracle;
mod owned;
pub mod pairs;
pub mod places;
mod replace;
pub mod report;
pub mod rounds;
pub mod summaries;
#[cfg(test)]
pub(crate) mod testing;
pub mod values;

pub use report::Facts;
pub use rounds::specialize_data;

use crate::ir::code::Summaries;
use std::time::Duration;

/// What to do with data flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataOptions {
    /// Let LLVM's optimizers remove memory accesses too: for who accepts that races are undefined.
    pub aggressive: bool,
    /// Compare each value that is replaced with what it is claimed to be, in the running program.
    pub check: bool,
    /// Functions that stand for others.
    pub summaries: Summaries,
    /// Keep what was found, for [`Facts`].
    pub wants_facts: bool,
    /// For one question to the solver.
    pub query_time: Duration,
    /// For all of them.
    pub total_time: Duration,
}

impl Default for DataOptions {
    fn default() -> DataOptions {
        DataOptions {
            aggressive: false,
            check: false,
            summaries: Summaries::default(),
            wants_facts: false,
            query_time: Duration::from_secs(6),
            total_time: Duration::from_secs(45),
        }
    }
}
