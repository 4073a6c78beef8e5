//! What `covsched loom check` shows of a compiled filter.

use super::Diagnostic;

/// A function of the program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FunctionAt {
    /// Its linkage name.
    pub name: String,
    /// As the source calls it, if that differs.
    pub demangled: Option<String>,
    /// The file of its definition.
    pub file: String,
    /// The line of its definition.
    pub line: u32,
}

/// A place in the program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PlaceAt {
    /// The file; empty if not known.
    pub file: String,
    /// The line, 0 if not known.
    pub line: u32,
    /// Linkage name of the function whose line it is: an inlined one's own.
    pub function: String,
    /// Linkage name of the function whose code it is in.
    pub within: String,
}

/// What a filter does at a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteSummary {
    /// `lock`, `unlock`, `leave`, `up`, `down`, `alone`, `together`.
    pub operation: &'static str,
    /// The line that is entered, for operations before it, or left.
    pub place: PlaceAt,
    /// Before the line; else after it.
    pub before: bool,
    /// How many slots: one for each way in or out, and for each copy of the code.
    pub slots: usize,
    /// Some of the slots are in loops of their function.
    pub in_loop: bool,
}

/// What a filter costs, roughly: what the program does not do, nobody can know before it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Slots with operations.
    pub slots: usize,
    /// Those of them in loops of their function.
    pub slots_in_loops: usize,
    /// Slots in all functions that take their slow path: each costs a call, most of them do nothing.
    pub slow_slots: usize,
    /// Nanoseconds for one pass through the region, or for one event, if nobody has to wait.
    pub nanoseconds: u32,
}

/// A constraint of a filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstraintSummary {
    /// Its text.
    pub text: String,
    /// Its line in the filter.
    pub line: usize,
    /// `mutual exclusion`, `unilateral exclusion` or `order`.
    pub kind: &'static str,
    /// What is done where, sorted by place.
    pub sites: Vec<SiteSummary>,
    /// Slots with its operations.
    pub slots: usize,
    /// Functions that take their slow path for it.
    pub functions: Vec<FunctionAt>,
    /// Where no thread may be when it is installed or removed; sorted, without duplicates.
    pub unsafe_at: Vec<PlaceAt>,
    /// How many locations these are.
    pub unsafe_locations: usize,
    /// What it costs.
    pub cost: Cost,
}

/// A compiled filter, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Its constraints, in the source's order.
    pub constraints: Vec<ConstraintSummary>,
    /// Milliseconds of its `timeout`; 0 if it has none.
    pub timeout_ms: u32,
    /// What may not be as it was meant.
    pub warnings: Vec<Diagnostic>,
    /// How many locations the program has in all.
    pub locations: usize,
}
