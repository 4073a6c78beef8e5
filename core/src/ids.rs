//! Ids as newtypes: a site is never mistaken for a thread, nor a clock for a position.

use core::fmt;

/// A static instruction that matters; see [`crate::site`] for how the number is made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct SiteId(pub u64);

impl SiteId {
    /// The site of an event that happened in code that covsched did not compile.
    pub const NONE: SiteId = SiteId(0);

    /// What hooks are told in a specialized program where users leave the synchronization out (`--ignore-sites`): the
    /// call runs as it is.
    pub const IGNORED: SiteId = SiteId(u64::MAX);

    /// Whether this is [`SiteId::NONE`].
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for SiteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A thread's number. In a recording: the order in which threads were made known to the runtime.
/// In a schedule: t0 is main, then in the order of their creation in the schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// Main.
    pub const MAIN: ThreadId = ThreadId(0);
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// A place in a schedule's total order, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The runtime's hybrid logical clock: see [`crate::rawlog`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Clock(pub u64);

/// Identifies one build of a program: the sum of the hashes of its site tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct ProgramId(pub u64);

impl fmt::Display for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
