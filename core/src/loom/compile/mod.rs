//! From a filter to a plan for one build.
//!
//! - `names`, `places`: what files, lines and functions a filter means, and their slots
//! - `expression`: code for the engine's stack machine
//! - `operations`: what is done at which slot, and where that makes it unsafe to be
//! - `emit`: the plan's bytes
//! - [`types`]: what debug info must say about variables
//! - [`summary`]: what `covsched loom check` shows of a compiled filter

mod emit;
mod expression;
mod names;
mod operations;
mod places;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod types;

use super::abi::{
    LOCATION_BY_CALLER, LOCATION_HOLDS, LOCATION_TAKES, LOCATION_UNSAFE, LOCATION_UNSAFE_BIRTH,
};
use super::filter::{parse, tree::Constraint, tree::Rule, tree::Statement};
pub use super::filter::{Diagnostic, Severity, Span};
use super::graph::{holds, FunctionId, Graph, PointId};
use super::plan;
use super::table::{PointKind, UnitTable};
use emit::Parts;
use operations::{Maker, Operations};
use places::Finder;
use std::collections::{BTreeMap, BTreeSet};
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

/// See [`Options::code`].
pub type FindsCode<'a> = dyn Fn(&BTreeSet<(usize, String)>) -> Option<Vec<CodeRange>> + 'a;

/// What the compiler asks of others.
pub struct Options<'a> {
    /// What a linkage name is in C++, with its parameters: `MYSQL_LOG::is_open()`. `None` if it is plain.
    pub demangle: &'a dyn Fn(&str) -> Option<String>,
    /// Whether optimization left lines what the source says of them: asked once for each event's line, each region and
    /// each function region that was found.
    pub moved: &'a dyn Fn(&Program, &Covered) -> Vec<Moved>,
    /// The machine code in which functions, named by linked file and linkage name, may have frames, with all code of these files of
    /// which it is not known whose it is. `None` if that cannot be told.
    pub code: &'a FindsCode<'a>,
}

/// Machine code in a linked file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CodeRange {
    /// As [`LinkedUnit::file`].
    pub file: usize,
    /// Its first address in the file's own address space.
    pub first: u64,
    /// The address behind it.
    pub end: u64,
}

impl Default for Options<'_> {
    /// Knows plain names only, trusts every line, and has no code.
    fn default() -> Self {
        Options { demangle: &|_| None, moved: &|_, _| Vec::new(), code: &|_| None }
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
    let filter = parse(source)?;
    let graph = Graph::new(program)
        .map_err(|damaged| vec![Diagnostic::error(source, Span::default(), damaged.to_string())])?;
    let finder = Finder::new(&graph, options, source);
    let mut maker = Maker {
        finder: &finder,
        types,
        errors: Vec::new(),
        warnings: Vec::new(),
        live: graph.live_functions(),
        starts: Vec::new(),
        handlers_jump_at: graph.jumps_of_handlers(),
    };
    let mut timeout = None;
    let mut rules = Vec::new();
    for statement in &filter.statements {
        match statement {
            Statement::Thread(name) => match finder.function_names(name) {
                Ok(names) => {
                    let is = |&id: &FunctionId| {
                        names.contains(graph.text(graph.place(id).unit, graph.function(id).name))
                    };
                    maker.starts.extend((0..graph.function_count() as FunctionId).filter(is));
                }
                Err(error) => maker.errors.push(error),
            },
            Statement::Timeout { span, .. } if timeout.is_some() => {
                maker.errors.push(Diagnostic::error(source, *span, "a second `timeout`"));
            }
            Statement::Timeout { milliseconds, .. } => timeout = Some(*milliseconds),
            Statement::Constraint(constraint) => rules.push(constraint),
        }
    }
    if rules.is_empty() && maker.errors.is_empty() {
        maker.errors.push(Diagnostic::error(source, Span::default(), "the filter has no constraint"));
    }
    if rules.len() > usize::from(u16::MAX) {
        maker.errors.push(Diagnostic::error(source, Span::default(), "too many constraints"));
    }
    let made: Vec<Operations> = rules.iter().map(|constraint| maker.constraint(constraint)).collect();
    if maker.errors.is_empty() {
        let orders: Vec<Vec<(String, Span)>> =
            made.iter().map(|operations| operations.events.clone()).collect();
        maker.errors.extend(operations::contradiction(source, &orders));
    }
    if !maker.errors.is_empty() {
        maker.errors.sort_by_key(|error| (error.line, error.column));
        return Err(maker.errors);
    }

    let constraints = rules
        .iter()
        .zip(&made)
        .map(|(constraint, operations)| plan::ConstraintRecord {
            kind: match constraint.rule {
                Rule::Mutual(_) => plan::CONSTRAINT_MUTUAL,
                Rule::Alone(_) => plan::CONSTRAINT_ALONE,
                Rule::Order(_) => plan::CONSTRAINT_ORDER,
            },
            steps: operations.steps,
            text: plan::Part {
                at: constraint.span.from as u32,
                count: constraint.span.text(source).len() as u32,
            },
        })
        .collect();
    let switch = |point: PointId| {
        let place = graph.place(graph.function_of(point));
        (place.unit, place.function as u32)
    };
    let all =
        || (0u16..).zip(&made).flat_map(|(index, made)| made.operations.iter().map(move |op| (index, op)));
    let frames = frames(&graph, &made, options);
    let by_caller = frames.is_some();
    let holding = holding(&graph, &made);
    if made.iter().any(|made| !made.waits.is_empty()) {
        warn_of_locks(&mut maker, &rules, &made, holding.as_deref());
    }
    let parts = Parts {
        name,
        source,
        timeout_ms: timeout.unwrap_or(0),
        operations: all().collect(),
        unsafe_at: marks(&graph, &made, holding.as_deref().unwrap_or_default(), by_caller),
        frames: frames.unwrap_or_default(),
        switches: all().map(|(_, operation)| switch(operation.point)).collect(),
        constraints,
    };
    let plan = emit::emit(&graph, &parts).map_err(|size| {
        let message = format!("the plan has {size} bytes; {} is the most that the engine takes", plan::MAX_SIZE);
        vec![Diagnostic::error(source, Span::default(), message)
            .with_help("an order's events are far from their threads' start: name the request function with `thread NAME`")]
    })?;
    let summary = Summary {
        constraints: rules
            .iter()
            .zip(&made)
            .map(|(constraint, made)| {
                summary::of_constraint(&graph, options, source, constraint, made, by_caller)
            })
            .collect(),
        timeout_ms: parts.timeout_ms,
        warnings: maker.warnings,
        locations: emit::location_count(program),
    };
    Ok(Compiled { plan, summary })
}

/// The code in whose frames a thread is unsafe at locations that only callers make so; `None` if there are none, or it is not known.
fn frames(graph: &Graph<'_>, made: &[Operations], options: &Options<'_>) -> Option<Vec<CodeRange>> {
    if made.iter().all(|made| made.unsafe_points.len() == made.unsafe_themselves.len()) {
        return None;
    }
    let named = |&id: &FunctionId| {
        let unit = graph.place(id).unit;
        (graph.program.units[unit].file, graph.text(unit, graph.function(id).name).to_owned())
    };
    let functions = made.iter().flat_map(|made| &made.frames).map(named).collect();
    let has_unit = |range: &CodeRange| graph.program.units.iter().any(|unit| unit.file == range.file);
    (options.code)(&functions)
        .filter(|ranges| ranges.len() <= plan::MOST_FRAMES && ranges.iter().all(has_unit))
}

/// What is to be known of locations while the filter is installed: by unit and location. `by_caller`: whether callers can be told.
/// `holding`: where threads may hold locks.
fn marks(
    graph: &Graph<'_>,
    made: &[Operations],
    holding: &[PointId],
    by_caller: bool,
) -> BTreeMap<(usize, u32), u8> {
    let mut marks: BTreeMap<(usize, u32), u8> = BTreeMap::new();
    let mut add = |point: PointId, mark: u8| {
        if let Some(location) = graph.location(point) {
            *marks.entry((graph.place(graph.function_of(point)).unit, location)).or_default() |= mark;
        }
    };
    for operations in made {
        // Only an order looks at who creates a thread: an event of it may be all that the thread has to do.
        let birth = if operations.steps > 0 { LOCATION_UNSAFE_BIRTH } else { 0 };
        operations.unsafe_points.iter().for_each(|&point| add(point, LOCATION_UNSAFE | birth));
    }
    if by_caller {
        // Points that share a location are as unsafe as one of them.
        let place =
            |&point: &PointId| Some((graph.place(graph.function_of(point)).unit, graph.location(point)?));
        let themselves: BTreeSet<(usize, u32)> =
            made.iter().flat_map(|made| &made.unsafe_themselves).filter_map(place).collect();
        let others = marks.iter_mut().filter(|(place, _)| !themselves.contains(place));
        others.for_each(|(_, mark)| *mark |= LOCATION_BY_CALLER);
    }
    let mut add = |point: PointId, mark: u8| {
        if let Some(location) = graph.location(point) {
            *marks.entry((graph.place(graph.function_of(point)).unit, location)).or_default() |= mark;
        }
    };
    made.iter().flat_map(|made| &made.waits).for_each(|&point| add(point, LOCATION_TAKES));
    holding.iter().for_each(|&point| add(point, LOCATION_HOLDS));
    marks
}

/// Regions of the filter run alone, and take locks of the program. What is a deadlock then, which the timeout ends.
fn warn_of_locks(
    maker: &mut Maker<'_, '_>,
    rules: &[&Constraint],
    made: &[Operations],
    holding: Option<&[PointId]>,
) {
    for (constraint, made) in rules.iter().zip(made) {
        let mut entries = made.operations.iter().filter(|operation| operation.kind == plan::OP_ALONE);
        match holding {
            None if !made.waits.is_empty() => maker.warn(
                constraint.span,
                "it takes locks of the program, which has too many places where a thread may hold one: who is paused with the lock that it \
                 needs stays so, until the timeout takes the filter out",
            ),
            Some(points) if entries.any(|entry| points.binary_search(&entry.point).is_ok()) => maker.warn(
                constraint.span,
                "a thread may come here with a lock, and wait for its turn to run alone, while the one whose turn it is waits for that lock, \
                 until the timeout takes the filter out: regions with `<> *` in this filter take locks",
            ),
            _ => (),
        }
    }
}

/// Where threads may hold locks, in the linked files that the plan is about anyway: others may be unloaded. Sorted; `None` if these are too many.
fn holding(graph: &Graph<'_>, made: &[Operations]) -> Option<Vec<PointId>> {
    let file = |point: PointId| graph.program.units[graph.place(graph.function_of(point)).unit].file;
    let operations = made.iter().flat_map(|made| &made.operations).map(|operation| operation.point);
    let points = operations.chain(made.iter().flat_map(|made| &made.unsafe_points).copied());
    let files: BTreeSet<usize> = points.map(file).collect();
    let mut holding = holds::points(graph);
    holding.retain(|&point| files.contains(&file(point)));
    (holds::rows(graph, &holding) <= holds::MOST).then_some(holding)
}

/// Whether a slot is in a loop of its function.
fn in_loop(graph: &Graph<'_>, slot: PointId) -> bool {
    let mut seen = BTreeSet::new();
    let mut work: Vec<PointId> = graph.next(slot).collect();
    while let Some(id) = work.pop() {
        if id == slot {
            return true;
        }
        if seen.insert(id) {
            work.extend(graph.next(id));
        }
    }
    false
}

/// How many slots a function has.
fn slot_count(graph: &Graph<'_>, id: FunctionId) -> usize {
    graph.function(id).points.iter().filter(|point| matches!(point.kind, PointKind::Slot { .. })).count()
}
