//! What is wrong with a schedule, and where.

use super::{Schedule, Seq};
use std::fmt;

/// A rule of [`super::verify`] or [`super::legal`] that a schedule breaks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Fault {
    /// The event that breaks it; `None` if the fault is in the threads, objects or sites.
    pub seq: Option<Seq>,
    /// What was found and what was expected.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(seq) = self.seq {
            write!(f, "event {seq}: ")?;
        }
        f.write_str(&self.what)
    }
}

impl Fault {
    /// A fault outside of the events.
    pub(super) fn in_header(what: impl Into<String>) -> Fault {
        Fault { seq: None, what: what.into() }
    }

    /// A fault of the event with this index.
    pub(super) fn at(index: usize, what: impl Into<String>) -> Fault {
        Fault { seq: Some(seq_of(index)), what: what.into() }
    }
}

/// The place of the event with this index.
pub(super) fn seq_of(index: usize) -> Seq {
    Seq(index as u64 + 1)
}

impl Schedule {
    /// The index of the event at a place, if there is one.
    pub fn index_of(&self, seq: Seq) -> Option<usize> {
        let index = usize::try_from(seq.0.checked_sub(1)?).ok()?;
        (index < self.events.len()).then_some(index)
    }
}
