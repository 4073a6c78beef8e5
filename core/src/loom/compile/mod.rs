//! From a filter to a plan for one build.
//!
//! - [`types`]: what debug info must say about variables
//! - [`summary`]: what `covsched loom check` shows of a compiled filter

pub mod summary;
pub mod types;

pub use super::filter::{Diagnostic, Severity, Span};
use super::table::UnitTable;
pub use summary::{ConstraintSummary, Cost, FunctionAt, PlaceAt, SiteSummary, Summary};
pub use types::{Field, Form, Global, LocalVariable, NoTypes, TypeId, Types};

/// All units of a program: its executable's and its libraries'.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The units.
    pub units: Vec<LinkedUnit>,
}

/// A unit in a linked file.
#[derive(Clone, Debug)]
pub struct LinkedUnit {
    /// What the pass said about it.
    pub table: UnitTable,
    /// The table's hash: [`super::abi::Unit::hash`].
    pub hash: u64,
    /// Where its [`super::abi::Unit`] is in the linked file's own address space.
    pub address: u64,
    /// Which linked file: 0 is the executable. Addresses of units with equal numbers are in one address space.
    pub file: usize,
    /// [`super::abi::Unit::function_count`].
    pub function_count: u32,
    /// [`super::abi::Unit::location_count`].
    pub location_count: u32,
    /// [`super::abi::Unit::slot_count`]. Slots' locations are the last ones.
    pub slot_count: u32,
}

impl LinkedUnit {
    /// [`super::abi::Unit::slot_base`].
    pub fn slot_base(&self) -> u32 {
        self.location_count.saturating_sub(self.slot_count)
    }
}

/// What the compiler asks of others.
pub struct Options<'a> {
    /// What a linkage name is in C++, with its parameters: `MYSQL_LOG::is_open()`. `None` if it is plain.
    pub demangle: &'a dyn Fn(&str) -> Option<String>,
    /// Whether optimization left lines what the source says of them: asked once for each event's line, each region and
    /// each function region that was found.
    pub moved: &'a dyn Fn(&Program, &Covered) -> Vec<Moved>,
}

impl Default for Options<'_> {
    /// Knows plain names only, and trusts every line.
    fn default() -> Self {
        Options { demangle: &|_| None, moved: &|_, _| Vec::new() }
    }
}

/// What a filter names, as found in one unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Covered {
    /// Index in [`Program::units`].
    pub unit: usize,
    /// The functions of the unit that have its slots: indices into [`UnitTable::functions`], sorted.
    pub functions: Vec<usize>,
    /// Set for a function region: its linkage name, an index into [`UnitTable::strings`]. All of its lines are meant.
    pub function: Option<u32>,
    /// Lines: file as an index into [`UnitTable::strings`], and number. For an event its line. For a region of events
    /// those of entries and exits, and all lines of their functions that a thread may run between them; sorted.
    pub lines: Vec<(u32, u32)>,
    /// For a region whose events are all of one file: from the first to the last line that it names.
    pub range: Option<(u32, u32, u32)>,
}

/// What optimization did to something that a filter names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Moved {
    /// The filter would protect nothing: why.
    Refused(String),
    /// Worth a look: why.
    Doubtful(String),
}

/// A compiled filter.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The plan: see [`super::plan`].
    pub plan: Vec<u8>,
    /// What it is, for people.
    pub summary: Summary,
}

/// Compiles a filter. `name` is its file's name, for the engine's reports.
pub fn compile(
    name: &str,
    source: &str,
    program: &Program,
    types: &dyn Types,
    options: &Options<'_>,
) -> Result<Compiled, Vec<Diagnostic>> {
    let _ = (name, program, types, options);
    Err(vec![Diagnostic::error(source, Span::default(), "filters are not compiled yet")])
}
