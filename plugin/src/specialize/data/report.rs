//! What data-flow specialization found, for `specialize --facts`.
//!
//! The JSON is `{"constants", "branches", "loops", "accesses", "summary"}`; its keys are documented in the manual.
//! Functions are the originals, lines are those of the source.

use crate::ir::Location;
use covsched_core::ThreadId;
use serde::Serialize;

/// All that was found.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Facts {
    /// Values that are constant.
    pub constants: Vec<ConstantFact>,
    /// Branches that go one way.
    pub branches: Vec<BranchFact>,
    /// Loops that were unrolled.
    pub loops: Vec<LoopFact>,
    /// Pairs of accesses by two threads at once.
    pub accesses: Vec<PairFact>,
    /// Counts.
    pub summary: Summary,
}

/// A place of the source, in a thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize)]
pub struct Place {
    /// File, as the compiler was given it.
    pub file: String,
    /// Line, 0 if unknown.
    pub line: u32,
    /// The original function.
    pub function: String,
    /// `t0`, ...
    pub thread: String,
}

impl Place {
    /// Of an instruction.
    pub fn new(location: Location, function: &str, thread: Option<ThreadId>) -> Place {
        Place {
            file: location.file,
            line: location.line,
            function: crate::demangle(function),
            thread: thread.map_or_else(String::new, |thread| thread.to_string()),
        }
    }
}

/// A value that is constant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ConstantFact {
    /// Where it is made.
    #[serde(flatten)]
    pub place: Place,
    /// What makes it.
    pub kind: &'static str,
    /// It, as decimal number, signed; or an address.
    pub value: String,
    /// It holds only if the whole run is covered: the program checks it.
    pub tainted: bool,
}

/// A branch that goes one way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BranchFact {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// Whether its condition is true.
    pub taken: bool,
}

/// A loop that was unrolled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoopFact {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// How often its body runs.
    pub trips: u32,
}

/// An access.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct AccessFact {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// `read` or `write`.
    pub access: &'static str,
}

/// Two accesses of different threads that the schedule does not order, one of them a write, and whose pointers may point to
/// the same object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PairFact {
    /// The one.
    pub first: AccessFact,
    /// The other.
    pub second: AccessFact,
    /// They never touch the same byte.
    pub disjoint: bool,
}

/// Counts of what was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Summary {
    /// Values that became constants.
    pub constants: usize,
    /// Branches.
    pub branches: usize,
    /// Loops.
    pub loops: usize,
    /// Pairs of accesses.
    pub pairs: usize,
    /// Pairs that are apart.
    pub disjoint: usize,
}

impl Facts {
    /// As `--facts` writes it.
    pub fn json(&mut self) -> String {
        self.summary = Summary {
            constants: self.constants.len(),
            branches: self.branches.len(),
            loops: self.loops.len(),
            pairs: self.accesses.len(),
            disjoint: self.accesses.iter().filter(|pair| pair.disjoint).count(),
        };
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
