//! The interprocedural control-flow graph of a program (Wu 5.3.1), made of its units' tables, and what can be reached
//! on it.
//!
//! - [`reach`]: backward, from exits and events: unsafe locations; [`callers`]: which of them only some callers make so
//! - [`inside`]: forward, from entries: where a thread may still be inside of a region
//! - [`holds`]: where it may hold a lock of the program; [`depth`]: how many
//! - [`handlers`]: signal handlers that jump away
//!
//! Points are numbered over all units. A call's target is a *group* of functions: all of one linkage name (an inline
//! function of C++ has a copy in each unit), the unit's own function if that is internal, or all functions of a shape
//! whose address is taken. A group is *open* if the call may also come to code that has no table; that code is
//! taken to return and to throw, and to call back any function whose address is taken (unless the library's tables
//! know better).
//!
//! Nothing in a table is trusted: [`Graph::new`] checks every index once, everything after relies on that.

pub mod callers;
mod depth;
mod handlers;
pub mod holds;
pub mod inside;
pub mod reach;
#[cfg(test)]
mod tests;

use super::compile::Program;
use super::table::{is_std_thread_run, Function, Point, PointKind, Start, Target, NONE};
use crate::hooks::{Effect, Hook, ObjectClass};
use crate::library;
use std::collections::{HashMap, HashSet};

/// A point of the program.
pub type PointId = u32;
/// A function of the program, its number over all units.
pub type FunctionId = u32;
/// A set of functions that a call may reach.
type GroupId = u32;

/// A table that cannot be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the loom table of {unit} is damaged: {what}")]
pub struct Damaged {
    /// The unit's source file.
    pub unit: String,
    /// What is wrong.
    pub what: String,
}

/// Where a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionRef {
    /// Index in [`Program::units`].
    pub unit: usize,
    /// Index in the unit's functions.
    pub function: usize,
    /// Its first point: its entry.
    pub first: PointId,
    /// How many points it has.
    pub count: u32,
}

/// A group of functions that calls may reach.
#[derive(Default)]
struct Group {
    functions: Vec<FunctionId>,
    callers: Vec<PointId>,
    /// Calls that may start a thread in one of the functions.
    creators: Vec<PointId>,
    /// The call may also come to code without a table.
    open: bool,
}

/// The graph of a program.
pub struct Graph<'a> {
    /// The program.
    pub program: &'a Program,
    functions: Vec<FunctionRef>,
    unit_start: Vec<usize>,
    function_of: Vec<FunctionId>,
    points: Vec<&'a Point>,
    /// Predecessors in the function, in one array.
    before: Vec<PointId>,
    before_start: Vec<u32>,
    groups: Vec<Group>,
    /// The group of each call; [`NONE`] for other points.
    group_of: Vec<GroupId>,
    /// The groups that each function is in.
    groups_of: Vec<Vec<GroupId>>,
    /// Calls of longjmp.
    jumps: Vec<PointId>,
    /// Where they may land.
    landings: HashSet<PointId>,
    /// Calls that may start a thread in any function whose address is taken.
    creations: Vec<PointId>,
    /// Calls that may call functions of the program back, in their thread.
    callbacks: Vec<PointId>,
    address_taken: Vec<bool>,
}

impl<'a> Graph<'a> {
    /// Checks all tables and connects them.
    pub fn new(program: &'a Program) -> Result<Graph<'a>, Damaged> {
        let mut graph = Graph {
            program,
            functions: Vec::new(),
            unit_start: Vec::new(),
            function_of: Vec::new(),
            points: Vec::new(),
            before: Vec::new(),
            before_start: Vec::new(),
            groups: Vec::new(),
            group_of: Vec::new(),
            groups_of: Vec::new(),
            jumps: Vec::new(),
            landings: HashSet::new(),
            creations: Vec::new(),
            callbacks: Vec::new(),
            address_taken: Vec::new(),
        };
        for (index, unit) in program.units.iter().enumerate() {
            check::unit(unit)
                .map_err(|what| Damaged { unit: unit.table.unit.escape_debug().to_string(), what })?;
            graph.unit_start.push(graph.functions.len());
            for (number, function) in unit.table.functions.iter().enumerate() {
                let first = graph.points.len() as PointId;
                graph.functions.push(FunctionRef {
                    unit: index,
                    function: number,
                    first,
                    count: function.points.len() as u32,
                });
                graph.address_taken.push(function.address_taken);
                graph.points.extend(function.points.iter());
                let id = graph.functions.len() as FunctionId - 1;
                graph.function_of.resize(graph.points.len(), id);
            }
        }
        if graph.points.len() >= NONE as usize {
            return Err(Damaged { unit: "all units".to_owned(), what: "too many points".to_owned() });
        }
        graph.connect_points();
        graph.connect_calls();
        Ok(graph)
    }

    /// Predecessors, by counting.
    fn connect_points(&mut self) {
        let count = self.points.len();
        let mut start = vec![0u32; count + 1];
        for id in 0..count as PointId {
            for next in self.next(id) {
                start[next as usize + 1] += 1;
            }
        }
        for index in 0..count {
            start[index + 1] += start[index];
        }
        let mut fill = start.clone();
        let mut before = vec![0; start[count] as usize];
        for id in 0..count as PointId {
            for next in self.next(id) {
                before[fill[next as usize] as usize] = id;
                fill[next as usize] += 1;
            }
        }
        self.before = before;
        self.before_start = start;
    }

    fn connect_calls(&mut self) {
        let taken: HashSet<&str> = (self.program.units.iter().enumerate())
            .flat_map(|(unit, linked)| linked.table.taken.iter().map(move |&text| (unit, text)))
            .map(|(unit, text)| self.text(unit, text))
            .collect();
        let mut known = Known::default();
        self.groups_of = vec![Vec::new(); self.functions.len()];
        for id in 0..self.functions.len() {
            let (place, function) = (self.functions[id], self.function(id as FunctionId));
            if function.points.is_empty() {
                continue;
            }
            let name = self.text(place.unit, function.name);
            self.address_taken[id] |= !function.internal && taken.contains(name);
            let by_name = if function.internal {
                *known
                    .internal
                    .entry((place.unit, name))
                    .or_insert_with(|| add_group(&mut self.groups, false))
            } else {
                *known.named.entry(name).or_insert_with(|| add_group(&mut self.groups, false))
            };
            self.join(by_name, id as FunctionId);
            if self.address_taken[id] {
                // A pointer may also have a function's address that has no table.
                let shape = vec![function.shape];
                let by_shape =
                    *known.shapes.entry(shape).or_insert_with(|| add_group(&mut self.groups, true));
                self.join(by_shape, id as FunctionId);
            }
            if is_std_thread_run(name) {
                let runs = *known.std_threads.get_or_insert_with(|| add_group(&mut self.groups, false));
                self.join(runs, id as FunctionId);
            }
        }
        self.group_of = vec![NONE; self.points.len()];
        let mut with_setjmp = HashSet::new();
        for id in 0..self.points.len() as PointId {
            let PointKind::Call { target, starts, .. } = &self.points[id as usize].kind else { continue };
            let unit = self.functions[self.function_of[id as usize] as usize].unit;
            let found = match target {
                Target::Named(name) => known.by_name(unit, self.text(unit, *name)),
                Target::Shape(shape) => known.shapes.get(&vec![*shape]).copied(),
                Target::Shapes(shapes) => Some(self.group_of_shapes(&mut known, shapes)),
                Target::Asm => None,
            };
            let group = match found {
                Some(group) => group,
                None => *known.open.get_or_insert_with(|| add_group(&mut self.groups, true)),
            };
            self.groups[group as usize].callers.push(id);
            self.group_of[id as usize] = group;
            for start in starts {
                let started = match start {
                    Start::Named(name) => known.by_name(unit, self.text(unit, *name)),
                    Start::Shape(shape) => known.shapes.get(&vec![*shape]).copied(),
                    Start::StdThread => known.std_threads,
                };
                if let Some(group) = started {
                    self.groups[group as usize].creators.push(id);
                }
            }
            let Target::Named(name) = target else { continue };
            let name = self.text(unit, *name);
            if library::jumps_away(name) {
                self.jumps.push(id);
            } else if RETURNS_TWICE.contains(&name) {
                with_setjmp.insert(self.function_of[id as usize]);
                self.landings.extend(self.next(id));
            } else if found.is_none() {
                let creates = Hook::replacing(name).is_some_and(|hook| {
                    hook.op.class() == ObjectClass::Thread && hook.op.effect() == Effect::Create
                });
                if creates && starts.is_empty() {
                    self.creations.push(id);
                } else if !creates && !knows_no_callback(name) {
                    self.callbacks.push(id);
                }
            }
        }
        for function in with_setjmp {
            let FunctionRef { first, count, .. } = self.functions[function as usize];
            let landing = |id: &PointId| matches!(self.points[*id as usize].kind, PointKind::Landing { .. });
            let landings: Vec<PointId> = (first..first + count).filter(landing).collect();
            self.landings.extend(landings);
        }
    }

    fn join(&mut self, group: GroupId, function: FunctionId) {
        self.groups_of[function as usize].push(group);
        self.groups[group as usize].functions.push(function);
    }

    /// The functions of several shapes.
    fn group_of_shapes(&mut self, known: &mut Known<'a>, shapes: &[u64]) -> GroupId {
        let mut wanted = shapes.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        if let Some(&group) = known.shapes.get(&wanted) {
            return group;
        }
        let parts = wanted.iter().filter_map(|&shape| known.shapes.get(&vec![shape]));
        let functions: Vec<FunctionId> =
            parts.flat_map(|&part| self.groups[part as usize].functions.clone()).collect();
        let group = add_group(&mut self.groups, true);
        for function in functions {
            self.join(group, function);
        }
        known.shapes.insert(wanted, group);
        group
    }

    /// How many points there are.
    pub fn point_count(&self) -> usize {
        self.points.len()
    }

    /// A point.
    pub fn point(&self, id: PointId) -> &'a Point {
        self.points[id as usize]
    }

    /// How many functions there are.
    pub fn function_count(&self) -> usize {
        self.functions.len()
    }

    /// Where a function is.
    pub fn place(&self, id: FunctionId) -> FunctionRef {
        self.functions[id as usize]
    }

    /// A function.
    pub fn function(&self, id: FunctionId) -> &'a Function {
        let FunctionRef { unit, function, .. } = self.functions[id as usize];
        &self.program.units[unit].table.functions[function]
    }

    /// The number of a unit's function.
    pub fn function_id(&self, unit: usize, function: usize) -> FunctionId {
        (self.unit_start[unit] + function) as FunctionId
    }

    /// The function that a point is of.
    pub fn function_of(&self, id: PointId) -> FunctionId {
        self.function_of[id as usize]
    }

    /// A text of a unit.
    pub fn text(&self, unit: usize, text: u32) -> &'a str {
        &self.program.units[unit].table.strings[text as usize]
    }

    /// The points that may come next in the function.
    pub fn next(&self, id: PointId) -> impl Iterator<Item = PointId> + 'a {
        let first = self.functions[self.function_of[id as usize] as usize].first;
        self.points[id as usize].next.iter().map(move |next| first + next)
    }

    /// The points before it in the function.
    pub fn before(&self, id: PointId) -> &[PointId] {
        let start = self.before_start[id as usize] as usize;
        &self.before[start..self.before_start[id as usize + 1] as usize]
    }

    /// A point's location in its unit, if a thread can stay there.
    pub fn location(&self, id: PointId) -> Option<u32> {
        match &self.points[id as usize].kind {
            PointKind::Entry { location }
            | PointKind::Check { location }
            | PointKind::Landing { location }
            | PointKind::Call { location, .. } => (*location != NONE).then_some(*location),
            PointKind::Slot { slot, .. } => {
                let unit = self.functions[self.function_of[id as usize] as usize].unit;
                Some(self.program.units[unit].slot_base() + slot)
            }
            _ => None,
        }
    }

    /// Functions that may run: those that `main`, other threads, code without tables and constructors may come to.
    pub fn live_functions(&self) -> Vec<bool> {
        let mut live = vec![false; self.functions.len()];
        let mut work: Vec<FunctionId> =
            (0..self.functions.len() as FunctionId).filter(|&id| self.is_root(id)).collect();
        work.iter().for_each(|&id| live[id as usize] = true);
        let mut started: HashMap<PointId, Vec<GroupId>> = HashMap::new();
        for (id, group) in self.groups.iter().enumerate() {
            group.creators.iter().for_each(|&call| started.entry(call).or_default().push(id as GroupId));
        }
        while let Some(id) = work.pop() {
            let FunctionRef { first, count, .. } = self.functions[id as usize];
            for call in first..first + count {
                let threads = started.get(&call).into_iter().flatten().copied();
                for &callee in self
                    .group(call)
                    .into_iter()
                    .chain(threads)
                    .flat_map(|group| &self.groups[group as usize].functions)
                {
                    if !std::mem::replace(&mut live[callee as usize], true) {
                        work.push(callee);
                    }
                }
            }
        }
        live
    }

    /// Whether code without a table may call it, or the system.
    pub fn is_root(&self, id: FunctionId) -> bool {
        let FunctionRef { unit, .. } = self.functions[id as usize];
        let function = self.function(id);
        let name = self.text(unit, function.name);
        self.address_taken[id as usize]
            || name == "main"
            || name.starts_with("_GLOBAL__")
            || (!function.internal && self.program.units[unit].file != 0)
    }

    /// The group of a call.
    fn group(&self, call: PointId) -> Option<GroupId> {
        Some(self.group_of[call as usize]).filter(|&group| group != NONE)
    }

    /// Whether some known call may reach it.
    pub fn has_callers(&self, id: FunctionId) -> bool {
        self.groups_of[id as usize].iter().any(|&group| !self.groups[group as usize].callers.is_empty())
    }
}

/// Groups by what calls say.
#[derive(Default)]
struct Known<'a> {
    named: HashMap<&'a str, GroupId>,
    internal: HashMap<(usize, &'a str), GroupId>,
    shapes: HashMap<Vec<u64>, GroupId>,
    /// What libstdc++'s thread function calls.
    std_threads: Option<GroupId>,
    /// Code without a table.
    open: Option<GroupId>,
}

impl Known<'_> {
    fn by_name(&self, unit: usize, name: &str) -> Option<GroupId> {
        self.internal.get(&(unit, name)).or_else(|| self.named.get(name)).copied()
    }
}

fn add_group(groups: &mut Vec<Group>, open: bool) -> GroupId {
    groups.push(Group { open, ..Group::default() });
    groups.len() as GroupId - 1
}

const RETURNS_TWICE: &[&str] = &["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "getcontext"];

/// Whether a library function is known to call no function of the program, so that it starts no thread with one either.
fn knows_no_callback(name: &str) -> bool {
    library::never_synchronizes(name)
        || library::may_block(name)
        || Hook::replacing(name).is_some_and(|hook| hook.op.class() != ObjectClass::Once)
        || name.starts_with("covsched_")
}

/// Every index of a table, checked.
mod check {
    use crate::loom::compile::LinkedUnit;
    use crate::loom::table::{Function, PointKind, Start, Target, UnitTable, NONE};

    pub(super) fn unit(unit: &LinkedUnit) -> Result<(), String> {
        let table = &unit.table;
        let texts = table.strings.len();
        if table.functions.len() != unit.function_count as usize {
            let found = table.functions.len();
            return Err(format!("{found} functions, the unit has {}", unit.function_count));
        }
        if unit.slot_count > unit.location_count {
            return Err(format!("{} slots in {} locations", unit.slot_count, unit.location_count));
        }
        table.taken.iter().try_for_each(|&text| index("a text", text, texts))?;
        for line in table.chains.iter().flatten() {
            index("a text", line.function, texts)?;
            index("a text", line.file, texts)?;
        }
        let mut slots = vec![false; unit.slot_count as usize];
        for function in &table.functions {
            index("a text", function.name, texts)?;
            index("a text", function.file, texts)?;
            for variable in &function.variables {
                index("a text", variable.function, texts)?;
                index("a text", variable.file, texts)?;
            }
            points(unit, table, function, &mut slots).map_err(|what| {
                format!("{what} in {}", table.strings[function.name as usize].escape_debug())
            })?;
        }
        Ok(())
    }

    fn points(
        unit: &LinkedUnit,
        table: &UnitTable,
        function: &Function,
        slots: &mut [bool],
    ) -> Result<(), String> {
        let count = function.points.len();
        if count > 0 && !matches!(function.points[0].kind, PointKind::Entry { .. }) {
            return Err("the first point is no entry".to_owned());
        }
        let base = unit.slot_base() as usize;
        let place = |location: u32| match location {
            NONE => Ok(()),
            location => index("a location", location, base),
        };
        for point in &function.points {
            index("a chain", point.chain, table.chains.len())?;
            point.next.iter().try_for_each(|&next| index("a point", next, count))?;
            match &point.kind {
                PointKind::Entry { location }
                | PointKind::Check { location }
                | PointKind::Landing { location } => place(*location)?,
                PointKind::Call { target, location, starts, .. } => {
                    place(*location)?;
                    if let Target::Named(name) = target {
                        index("a text", *name, table.strings.len())?;
                    }
                    for start in starts {
                        if let Start::Named(name) = start {
                            index("a text", *name, table.strings.len())?;
                        }
                    }
                }
                PointKind::Slot { slot, from, available } => {
                    index("a slot", *slot, slots.len())?;
                    if std::mem::replace(&mut slots[*slot as usize], true) {
                        return Err(format!("slot {slot} twice"));
                    }
                    index("a chain", *from, table.chains.len())?;
                    available
                        .iter()
                        .try_for_each(|&variable| index("a variable", variable, function.variables.len()))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn index(what: &str, found: u32, count: usize) -> Result<(), String> {
        if (found as usize) < count {
            Ok(())
        } else {
            Err(format!("{what} {found} of {count}"))
        }
    }
}
