//! What `covsched loom check` shows of a compiled filter.

use super::operations::{Operation, Operations};
use super::{in_loop, slot_count, Diagnostic, Options};
use crate::loom::filter::tree::{Constraint, Rule};
use crate::loom::graph::{FunctionId, Graph, PointId};
use crate::loom::plan;
use crate::loom::table::Line;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Nanoseconds for one pass through the region, or for one event, if nobody has to wait: an order of magnitude.
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
    /// How many of them are unsafe only for threads that were called from what the constraint is about.
    pub unsafe_by_caller: usize,
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

/// What an operation is called.
fn name(kind: u8) -> &'static str {
    match kind {
        plan::OP_LOCK => "lock",
        plan::OP_UNLOCK => "unlock",
        plan::OP_LEAVE => "leave",
        plan::OP_UP => "up",
        plan::OP_DOWN => "down",
        plan::OP_ALONE => "alone",
        _ => "together",
    }
}

fn place(graph: &Graph<'_>, point: PointId, line: Line) -> PlaceAt {
    let function = graph.function_of(point);
    let unit = graph.place(function).unit;
    PlaceAt {
        file: graph.text(unit, line.file).to_owned(),
        line: line.line,
        function: graph.text(unit, line.function).to_owned(),
        within: graph.text(unit, graph.function(function).name).to_owned(),
    }
}

/// Where a point is: the line after it, or the one before it, or that of its function.
fn point_place(graph: &Graph<'_>, point: PointId) -> PlaceAt {
    let function = graph.function_of(point);
    let chains = &graph.program.units[graph.place(function).unit].table.chains;
    let of = |id: PointId| chains[graph.point(id).chain as usize].first().copied();
    let definition = graph.function(function);
    let line = of(point)
        .or_else(|| graph.next(point).find_map(of))
        .or_else(|| graph.before(point).iter().find_map(|&before| of(before)))
        .unwrap_or(Line { function: definition.name, file: definition.file, line: definition.line, copy: 0 });
    place(graph, point, line)
}

/// A constraint, for people. `by_caller`: whether the engine can tell callers.
pub(super) fn of_constraint(
    graph: &Graph<'_>,
    options: &Options<'_>,
    source: &str,
    constraint: &Constraint,
    made: &Operations,
    by_caller: bool,
) -> ConstraintSummary {
    let looped: BTreeMap<PointId, bool> =
        made.operations.iter().map(|operation| (operation.point, in_loop(graph, operation.point))).collect();
    let mut sites: BTreeMap<(PlaceAt, bool, &'static str), (BTreeSet<PointId>, bool)> = BTreeMap::new();
    for operation in &made.operations {
        let Operation { point, line, before, kind, .. } = *operation;
        let site = sites.entry((place(graph, point, line), !before, name(kind))).or_default();
        site.0.insert(point);
        site.1 |= looped[&point];
    }
    let functions: BTreeSet<FunctionId> =
        made.operations.iter().map(|operation| graph.function_of(operation.point)).collect();
    let shown = functions.iter().map(|&id| {
        let (unit, function) = (graph.place(id).unit, graph.function(id));
        let name = graph.text(unit, function.name);
        FunctionAt {
            name: name.to_owned(),
            demangled: (options.demangle)(name),
            file: graph.text(unit, function.file).to_owned(),
            line: function.line,
        }
    });
    let located = || made.unsafe_points.iter().copied().filter(|&point| graph.location(point).is_some());
    let (kind, nanoseconds) = match &constraint.rule {
        // Orders of magnitude, guessed and not measured; a key adds a look into a table.
        Rule::Mutual(_) => ("mutual exclusion", 60),
        Rule::Alone(_) => ("unilateral exclusion", 50_000),
        Rule::Order(_) => ("order", 60),
    };
    let keyed = made.operations.iter().any(|operation| operation.key.is_some());
    ConstraintSummary {
        text: constraint.span.text(source).to_owned(),
        line: Diagnostic::error(source, constraint.span, "").line,
        kind,
        sites: sites
            .into_iter()
            .map(|((place, after, operation), (slots, in_loop))| SiteSummary {
                operation,
                place,
                before: !after,
                slots: slots.len(),
                in_loop,
            })
            .collect(),
        slots: looped.len(),
        functions: shown.collect::<BTreeSet<_>>().into_iter().collect(),
        unsafe_at: located()
            .map(|point| point_place(graph, point))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        unsafe_locations: located().count(),
        unsafe_by_caller: located()
            .filter(|point| by_caller && !made.unsafe_themselves.contains(point))
            .count(),
        cost: Cost {
            slots: looped.len(),
            slots_in_loops: looped.values().filter(|&&looped| looped).count(),
            slow_slots: functions.iter().map(|&id| slot_count(graph, id)).sum(),
            nanoseconds: if keyed { nanoseconds + 20 } else { nanoseconds },
        },
    }
}
