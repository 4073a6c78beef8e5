//! From constraints to operations at slots, and the locations that are unsafe for them.
//!
//! # Exclusion
//! `lock` before a region's entries, `unlock` behind its exits (5.2.3). A thread that is inside and comes to a slot
//! from which no exit can be reached any more, unless an entry is passed first, left the region another way: an early
//! return, an exception, a longjmp. There it gets `leave`, which releases what it still holds, and a warning.
//!
//! Locks count, so that a function that calls itself works. A region of events that is entered again without having
//! been left (its entry is in a loop, its exit behind it), or whose exit can be come to without an entry, ends
//! with `leave` instead of `unlock`; but not if it may run inside of another region of its constraint, or of itself.
//!
//! # Order
//! `e1 > e2`: `up` behind `e1`, `down` before `e2`.

use super::expression::{self, Instruction, Where};
use super::places::{first_entering, last_leaving, last_leaving_of_region, Finder, Places, SlotAt};
use super::types::Types;
use super::{Covered, Moved};
use crate::loom::filter::tree::{Constraint, Event, Expression, Region, Rule};
use crate::loom::filter::{Diagnostic, Span};
use crate::loom::graph::callers::Callers;
use crate::loom::graph::holds;
use crate::loom::graph::inside::{forward, Step, DOWN, OUT};
use crate::loom::graph::reach::{backward, Question, Reached};
use crate::loom::graph::{FunctionId, Graph, PointId};
use crate::loom::plan;
use crate::loom::table::{Line, PointKind};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// An operation at a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Operation {
    pub(super) point: PointId,
    /// One of [`plan`]'s `OP_` numbers.
    pub(super) kind: u8,
    pub(super) step: u8,
    pub(super) key: Option<Vec<Instruction>>,
    pub(super) times: Option<Vec<Instruction>>,
    /// As [`plan::OpRecord::flags`].
    pub(super) flags: u32,
    /// The line that it is for.
    pub(super) line: Line,
    /// It is done before the line, else after it.
    pub(super) before: bool,
}

/// What a constraint comes to.
#[derive(Default)]
pub(super) struct Operations {
    pub(super) operations: Vec<Operation>,
    /// Points at which no thread may be.
    pub(super) unsafe_points: BTreeSet<PointId>,
    /// Those of them at which none may be, whoever called.
    pub(super) unsafe_themselves: BTreeSet<PointId>,
    /// Functions that, if they called, make the others unsafe.
    pub(super) frames: BTreeSet<FunctionId>,
    /// Where a thread that runs alone may wait for a lock of the program.
    pub(super) waits: BTreeSet<PointId>,
    /// Semaphores, for an order.
    pub(super) steps: u32,
    /// For an order: identities of its events and where they stand.
    pub(super) events: Vec<(String, Span)>,
}

impl Operations {
    fn add_unsafe(&mut self, graph: &Graph<'_>, reached: &Reached) {
        let callers = Callers::of(graph, reached);
        self.unsafe_points.extend(reached.points());
        self.unsafe_themselves
            .extend(reached.points().filter(|&id| callers.is_unsafe_itself(graph, reached, id)));
        self.frames.extend(callers.functions());
    }
}

/// A region's slots.
struct Found<'f> {
    span: Span,
    entries: Vec<(SlotAt, &'f [Expression])>,
    exits: Vec<(SlotAt, &'f [Expression])>,
    is_function: bool,
}

impl Found<'_> {
    fn entry_points(&self) -> Vec<PointId> {
        self.entries.iter().map(|(slot, _)| slot.point).collect()
    }

    fn exit_points(&self) -> Vec<PointId> {
        self.exits.iter().map(|(slot, _)| slot.point).collect()
    }
}

/// Makes operations; collects what is wrong.
pub(super) struct Maker<'g, 'a> {
    pub(super) finder: &'g Finder<'g, 'a>,
    pub(super) types: &'g dyn Types,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
    /// Functions that may run.
    pub(super) live: Vec<bool>,
    /// Conceptual thread functions.
    pub(super) starts: Vec<FunctionId>,
    /// [`Graph::jumps_of_handlers`].
    pub(super) handlers_jump_at: Vec<PointId>,
}

impl<'g, 'a> Maker<'g, 'a> {
    fn graph(&self) -> &'g Graph<'a> {
        self.finder.graph
    }

    fn error(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        let mut error = Diagnostic::error(self.finder.source, span, message);
        error.help.extend(help);
        self.errors.push(error);
    }

    pub(super) fn warn(&mut self, span: Span, message: impl Into<String>) {
        let warning = Diagnostic::warning(self.finder.source, span, message);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// A constraint; what is wrong with it is in `errors`.
    pub(super) fn constraint(&mut self, constraint: &Constraint) -> Operations {
        match &constraint.rule {
            Rule::Order(events) => self.order(events),
            Rule::Mutual(regions) => {
                let mut different: Vec<&Region> = Vec::new();
                for region in regions {
                    if !different.iter().any(|other| other.to_string() == region.to_string()) {
                        different.push(region);
                    }
                }
                self.exclusion(&different, [plan::OP_LOCK, plan::OP_UNLOCK])
            }
            Rule::Alone(region) => {
                let key = match region {
                    Region::Between { entries, exits, .. } => {
                        entries.iter().chain(exits).find_map(|e| e.key.first())
                    }
                    Region::Statement(event) => event.key.first(),
                    Region::Function { arguments, .. } => arguments.first(),
                };
                if let Some(key) = key {
                    self.error(
                        key.span,
                        "`<> *` keeps all other threads out, whatever their data: an expression has no meaning here",
                        None,
                    );
                    return Operations::default();
                }
                self.exclusion(&[region], [plan::OP_ALONE, plan::OP_TOGETHER])
            }
        }
    }

    fn event(&mut self, event: &Event) -> Option<Places> {
        match self.finder.event(event) {
            Ok(places) => {
                self.check_life(event.span, &format!("{}:{}", event.file, event.line), &places);
                Some(places)
            }
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }

    /// Warns of code that nothing calls.
    fn check_life(&mut self, span: Span, what: &str, places: &Places) {
        let graph = self.graph();
        let functions: BTreeSet<FunctionId> =
            places.entering.iter().map(|slot| graph.function_of(slot.point)).collect();
        if functions.iter().all(|&id| !self.live[id as usize]) {
            self.warn(span, format!("nothing in the program calls the code of `{what}`"));
        }
    }

    /// Warns of a name that several files have for functions of their own.
    fn check_definitions(&mut self, span: Span, name: &str, names: &BTreeSet<&str>) {
        let graph = self.graph();
        let mut files = BTreeSet::new();
        for id in 0..graph.function_count() as FunctionId {
            let (unit, function) = (graph.place(id).unit, graph.function(id));
            if function.internal && names.contains(graph.text(unit, function.name)) {
                files.insert(graph.text(unit, function.file));
            }
        }
        if files.len() > 1 {
            let files = files.into_iter().collect::<Vec<_>>().join(", ");
            self.warn(span, format!("all functions `{name}` are meant: those of {files}"));
        }
    }

    fn check_moved(
        &mut self,
        span: Span,
        places: &[&Places],
        function: Option<&BTreeSet<&str>>,
        inside: &[PointId],
    ) {
        let graph = self.graph();
        let slots = || places.iter().flat_map(|places| places.entering.iter().chain(&places.leaving));
        let functions: BTreeSet<FunctionId> = slots().map(|slot| graph.function_of(slot.point)).collect();
        let mut units: BTreeMap<usize, Covered> = BTreeMap::new();
        for &id in &functions {
            let place = graph.place(id);
            let covered = units.entry(place.unit).or_insert_with(|| Covered {
                unit: place.unit,
                functions: Vec::new(),
                function: None,
                lines: Vec::new(),
                range: None,
            });
            covered.functions.push(place.function);
        }
        // Where nothing of it was found, it may have been all the same: in code that has no line any more.
        let everywhere: BTreeSet<(&str, u32)> = slots()
            .map(|slot| (graph.place(graph.function_of(slot.point)).unit, slot.line))
            .map(|(unit, line)| (graph.text(unit, line.file), line.line))
            .collect();
        for (unit, linked) in graph.program.units.iter().enumerate() {
            let is_named = |text: &String| match function {
                Some(names) => names.contains(text.as_str()),
                None => everywhere.iter().any(|(file, _)| file == text),
            };
            if !units.contains_key(&unit) && linked.table.strings.iter().any(is_named) {
                let none = Covered { unit, functions: vec![], function: None, lines: vec![], range: None };
                units.insert(unit, none);
            }
        }
        for (&unit, covered) in &mut units {
            let strings = &graph.program.units[unit].table.strings;
            let chains = &graph.program.units[unit].table.chains;
            covered.function = function
                .and_then(|names| strings.iter().position(|text| names.contains(text.as_str())))
                .map(|text| text as u32);
            let own = slots().filter(|slot| graph.place(graph.function_of(slot.point)).unit == unit);
            let mut named: BTreeSet<(u32, u32)> = own.map(|slot| (slot.line.file, slot.line.line)).collect();
            if covered.functions.is_empty() {
                let text = |file: &str| strings.iter().position(|text| text == file);
                named =
                    everywhere.iter().filter_map(|&(file, line)| Some((text(file)? as u32, line))).collect();
            }
            let between = inside.iter().filter(|&&id| functions.contains(&graph.function_of(id)));
            let between = between.filter(|&&id| graph.place(graph.function_of(id)).unit == unit);
            let mut lines: BTreeSet<(u32, u32)> = between
                .flat_map(|&id| &chains[graph.point(id).chain as usize])
                .map(|line| (line.file, line.line))
                .collect();
            if function.is_none() {
                let files: BTreeSet<u32> = named.iter().map(|(file, _)| *file).collect();
                if let (1, Some(&(file, first)), Some(&(_, last))) =
                    (files.len(), named.first(), named.last())
                {
                    covered.range = Some((file, first, last));
                }
                lines.extend(named);
                covered.lines = lines.into_iter().collect();
            }
        }
        for covered in units.into_values() {
            for moved in (self.finder.options.moved)(graph.program, &covered) {
                match moved {
                    Moved::Refused(why) => self.error(
                        span,
                        why,
                        Some("compile with --loom=precise, or name a larger region".to_owned()),
                    ),
                    Moved::Doubtful(why) => self.warn(span, why),
                }
            }
        }
    }

    fn region<'f>(&mut self, region: &'f Region) -> Option<Found<'f>> {
        let graph = self.graph();
        match region {
            Region::Function { name, arguments } => {
                let (places, names) = match self.finder.function(name) {
                    Ok(found) => found,
                    Err(error) => {
                        self.errors.push(error);
                        return None;
                    }
                };
                if places.leaving.is_empty() {
                    let message = format!("`{}` never returns: the region would never end", name.text);
                    self.error(name.span, message, None);
                    return None;
                }
                self.check_life(name.span, &name.text, &places);
                self.check_definitions(name.span, &name.text, &names);
                self.check_moved(name.span, &[&places], Some(&names), &[]);
                let entries = places.entering.iter().map(|&slot| (slot, arguments.as_slice())).collect();
                // What the arguments were is not known at the end: the lock that was taken last is meant.
                let exits = places.leaving.iter().map(|&slot| (slot, &[][..])).collect();
                Some(Found { span: name.span, entries, exits, is_function: true })
            }
            Region::Statement(event) => {
                let places = self.event(event)?;
                self.check_moved(event.span, &[&places], None, &[]);
                let entries = first_entering(graph, &places)
                    .into_iter()
                    .map(|slot| (slot, event.key.as_slice()))
                    .collect();
                let exits: Vec<(SlotAt, &[Expression])> =
                    last_leaving(graph, &places).into_iter().map(|slot| (slot, &[][..])).collect();
                if exits.is_empty() {
                    let message = format!("control never comes behind `{}:{}`", event.file, event.line);
                    self.error(event.span, message, Some("the region would never end".to_owned()));
                    return None;
                }
                Some(Found { span: event.span, entries, exits, is_function: false })
            }
            Region::Between { entries, exits, span } => {
                let mut found = Found { span: *span, entries: vec![], exits: vec![], is_function: false };
                let mut all = Vec::new();
                let mut failed = false;
                for event in entries {
                    let Some(places) = self.event(event) else {
                        failed = true;
                        continue;
                    };
                    let first = first_entering(graph, &places);
                    found.entries.extend(first.into_iter().map(|slot| (slot, event.key.as_slice())));
                    all.push(places);
                }
                let entered: HashSet<PointId> = found.entry_points().into_iter().collect();
                for event in exits {
                    let Some(places) = self.event(event) else {
                        failed = true;
                        continue;
                    };
                    let last = last_leaving_of_region(graph, &places, &entered);
                    if last.is_empty() {
                        let message = format!(
                            "control never comes behind `{}:{}`: it is no exit",
                            event.file, event.line
                        );
                        self.error(event.span, message, None);
                        failed = true;
                    }
                    found.exits.extend(last.into_iter().map(|slot| (slot, event.key.as_slice())));
                    all.push(places);
                }
                if failed {
                    return None;
                }
                let exit_points: HashSet<PointId> = found.exit_points().into_iter().collect();
                let stop = |id| if exit_points.contains(&id) { Step::Stop } else { Step::Pass };
                let states = forward(graph, &found.entry_points(), &stop);
                let inside: Vec<PointId> = (0..states.len() as PointId)
                    .filter(|&id| states[id as usize] != 0 && !exit_points.contains(&id))
                    .collect();
                if !exit_points.is_empty() && exit_points.iter().all(|&id| states[id as usize] == 0) {
                    self.error(*span, "no exit of the region can be reached from its entries", None);
                    return None;
                }
                self.check_moved(*span, &all.iter().collect::<Vec<_>>(), None, &inside);
                Some(found)
            }
        }
    }

    fn key(&mut self, at: Where, expressions: &[Expression]) -> Option<Vec<Instruction>> {
        if expressions.is_empty() {
            return None;
        }
        match expression::compile(self.graph(), self.types, at, expressions) {
            Ok(code) => Some(code),
            Err(wrong) => {
                let mut error = Diagnostic::error(self.finder.source, wrong.span, wrong.message);
                error.help.extend(wrong.help);
                // One slot's message is enough for each place in the filter.
                if !self.errors.iter().any(|e| (e.line, e.column) == (error.line, error.column)) {
                    self.errors.push(error);
                }
                None
            }
        }
    }

    /// All keys of a constraint must be comparable.
    fn check_keys(&mut self, keys: &[(Span, usize)]) -> bool {
        let Some(&(_, first)) = keys.first() else { return true };
        let Some(&(span, other)) = keys.iter().find(|(_, count)| *count != first) else { return true };
        let say = |count| match count {
            0 => "no expression".to_owned(),
            1 => "1 expression".to_owned(),
            count => format!("{count} expressions"),
        };
        let message = format!(
            "{} here, {} at the constraint's start: they would never be the same instance",
            say(other),
            say(first)
        );
        self.error(span, message, None);
        false
    }

    fn exclusion(&mut self, regions: &[&Region], [enter, exit]: [u8; 2]) -> Operations {
        let graph = self.graph();
        let mut keys = Vec::new();
        for region in regions {
            match region {
                Region::Between { entries, exits, .. } => {
                    keys.extend(entries.iter().map(|event| (event.span, event.key.len())));
                    // An exit without a key means what was entered last.
                    keys.extend(
                        exits.iter().filter(|e| !e.key.is_empty()).map(|event| (event.span, event.key.len())),
                    );
                }
                Region::Statement(event) => keys.push((event.span, event.key.len())),
                Region::Function { name, arguments } => keys.push((name.span, arguments.len())),
            }
        }
        let comparable = self.check_keys(&keys);
        let found: Vec<Found<'_>> = regions.iter().filter_map(|region| self.region(region)).collect();
        if !comparable || found.len() != regions.len() {
            return Operations::default();
        }
        let reached: Vec<Reached> = found
            .iter()
            .map(|region| {
                let (targets, barriers) = (region.exit_points(), region.entry_points());
                backward(graph, Question { targets: &targets, barriers: &barriers, ..Question::default() })
            })
            .collect();
        let mut result = Operations::default();
        let inside: Vec<Vec<u8>> =
            found.iter().map(|region| self.walk_inside(region, &reached, &mut result.operations)).collect();
        for (index, region) in found.iter().enumerate() {
            let exit = if self.ends_with_leave(index, region, &found, &inside, &reached[index]) {
                plan::OP_LEAVE
            } else {
                exit
            };
            let landings = self.landings_between_calls(region, &inside[index]);
            let flags = if landings.is_some() { plan::BY_CALL } else { 0 };
            let waits = if enter == plan::OP_ALONE {
                holds::waits(graph, &inside[index]).collect()
            } else {
                Vec::new()
            };
            let entering = if waits.is_empty() { flags } else { flags | plan::TAKES_LOCKS };
            result.waits.extend(waits);
            for &(slot, key) in &region.entries {
                let at = Where { point: slot.point, line: slot.line, at_entry: region.is_function };
                let key = self.key(at, key);
                result.operations.push(Operation { flags: entering, ..operation(slot, enter, key, true) });
            }
            for slot in landings.into_iter().flatten() {
                let leaves = |other: &Operation| other.point == slot.point && other.kind == plan::OP_LEAVE;
                if !result.operations.iter().any(leaves) {
                    result
                        .operations
                        .push(Operation { flags, ..operation(slot, plan::OP_LEAVE, None, false) });
                }
            }
            for &(slot, key) in &region.exits {
                let at = Where { point: slot.point, line: slot.line, at_entry: false };
                let key = if exit == plan::OP_LEAVE { None } else { self.key(at, key) };
                result.operations.push(Operation { flags, ..operation(slot, exit, key, false) });
            }
            result.add_unsafe(graph, &reached[index]);
        }
        dedup(&mut result.operations);
        result
    }

    /// Where a thread may be before it left the region; adds `leave` where it left it without an exit.
    fn walk_inside(
        &mut self,
        region: &Found<'_>,
        reached: &[Reached],
        operations: &mut Vec<Operation>,
    ) -> Vec<u8> {
        let graph = self.graph();
        let exits: HashSet<PointId> = region.exit_points().into_iter().collect();
        let is_slot = |id: PointId| matches!(graph.point(id).kind, PointKind::Slot { .. });
        let outside = |id: PointId| is_slot(id) && !reached.iter().any(|reached| reached.contains(id));
        let entries: HashSet<PointId> = region.entry_points().into_iter().collect();
        // An entry that is come to from inside is no way out.
        let leaves = |id: PointId| outside(id) && !exits.contains(&id) && !entries.contains(&id);
        let step = |id: PointId| if exits.contains(&id) || leaves(id) { Step::Stop } else { Step::Pass };
        let states = forward(graph, &region.entry_points(), &step);
        let mut places: BTreeSet<String> = BTreeSet::new();
        let mut left: BTreeSet<PointId> =
            (0..states.len() as PointId).filter(|&id| states[id as usize] != 0 && leaves(id)).collect();
        // A signal may come anywhere.
        left.extend(self.handlers_jump_at.iter().filter(|&&id| leaves(id)));
        for id in left {
            let Some((slot, before)) = self.left_at(id) else { continue };
            operations.push(operation(slot, plan::OP_LEAVE, None, before));
            let unit = graph.place(graph.function_of(id)).unit;
            let file = super::names::last_component(graph.text(unit, slot.line.file));
            places.insert(format!("{file}:{}", slot.line.line));
        }
        let count = places.len();
        if count > 0 {
            let mut shown = places.into_iter().take(5).collect::<Vec<_>>().join(", ");
            if count > 5 {
                shown.push_str(&format!(" and {} more", count - 5));
            }
            self.warn(
                region.span,
                format!("the region can be left without its exit at {shown}: it ends there"),
            );
        }
        states
    }

    /// A slot at which a region is left, the line that this is for, and whether that comes behind it.
    fn left_at(&self, id: PointId) -> Option<(SlotAt, bool)> {
        let graph = self.graph();
        let PointKind::Slot { from, .. } = graph.point(id).kind else { return None };
        let unit = graph.place(graph.function_of(id)).unit;
        let chains = &graph.program.units[unit].table.chains;
        let function = graph.function(graph.function_of(id));
        let nowhere = Line { function: function.name, file: function.file, line: function.line, copy: 0 };
        let (line, before) =
            match (chains[graph.point(id).chain as usize].first(), chains[from as usize].first()) {
                (_, Some(left)) => (*left, false),
                (Some(entered), None) => (*entered, true),
                (None, None) => (nowhere, false),
            };
        Some((SlotAt { point: id, line }, before))
    }

    /// For a function that calls itself: the first slots where an exception may have landed that passed one of its calls, while
    /// another goes on; `None` if there is no such place. A call that an exception passes has no slot to give back at.
    fn landings_between_calls(&self, region: &Found<'_>, inside: &[u8]) -> Option<Vec<SlotAt>> {
        let graph = self.graph();
        let entries = region.entry_points();
        let is_inside = |id: PointId| inside[id as usize] != 0;
        let functions: HashSet<FunctionId> = entries.iter().map(|&id| graph.function_of(id)).collect();
        let is_passed = |id: PointId| {
            matches!(graph.point(id).kind, PointKind::Unwind)
                && functions.contains(&graph.function_of(id))
                && graph.before(id).iter().any(|&b| matches!(graph.point(b).kind, PointKind::Call { .. }))
        };
        let points = || (0..inside.len() as PointId).filter(|&id| is_inside(id));
        let calls_itself = entries.iter().any(|&id| inside[id as usize] & DOWN != 0);
        if !region.is_function || !calls_itself || !points().any(is_passed) {
            return None;
        }
        let mut open: Vec<PointId> =
            points().filter(|&id| matches!(graph.point(id).kind, PointKind::Landing { .. })).collect();
        if open.is_empty() {
            return None;
        }
        let mut seen = HashSet::new();
        let mut slots = Vec::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.left_at(id) {
                Some((slot, _)) => slots.push(slot),
                None => open.extend(graph.next(id)),
            }
        }
        slots.sort_by_key(|slot| slot.point);
        Some(slots)
    }

    /// Whether a region's exits are to release whatever is held.
    fn ends_with_leave(
        &mut self,
        index: usize,
        region: &Found<'_>,
        all: &[Found<'_>],
        inside: &[Vec<u8>],
        reached: &Reached,
    ) -> bool {
        let graph = self.graph();
        let entries = region.entry_points();
        let entered = |bit: u8, states: &[u8]| entries.iter().any(|&id| states[id as usize] & bit != 0);
        if region.is_function {
            return false;
        }
        let again = entered(OUT, &inside[index]);
        let recursive = entered(DOWN, &inside[index]);
        let exits: HashSet<PointId> = region.exit_points().into_iter().collect();
        // An exit that can be come to from a start of the program, or from behind an exit.
        let first = |id: FunctionId| graph.place(id).first;
        let root = (0..graph.function_count() as FunctionId)
            .filter(|&id| graph.place(id).count > 0 && (graph.is_root(id) || !graph.has_callers(id)))
            .find(|&id| reached.directly(first(id)));
        let behind = exits
            .iter()
            .any(|&id| !entries.contains(&id) && graph.next(id).any(|next| reached.contains(next)));
        let loose = root.is_some() || behind;
        if loose {
            let from = match root {
                Some(id) => {
                    let place = graph.place(id);
                    let name = self.finder.shown(graph.text(place.unit, graph.function(id).name));
                    format!("from the start of `{name}`")
                }
                None => "again from behind it".to_owned(),
            };
            self.warn(region.span, format!("an exit of the region can be come to without its entry, {from}"));
        }
        let nested =
            all.iter().enumerate().any(|(other, _)| other != index && entered(OUT | DOWN, &inside[other]));
        if again && (recursive || nested) {
            self.warn(
                region.span,
                "the region can be entered again before it is left, and inside of another region of the constraint: \
                 it may be held too long",
            );
        }
        (again || loose) && !recursive && !nested
    }

    fn order(&mut self, events: &[Event]) -> Operations {
        let graph = self.graph();
        let mut result = Operations { steps: events.len() as u32 - 1, ..Operations::default() };
        if events.len() > usize::from(u8::MAX) {
            self.error(events[0].span, "an order of more than 255 events", None);
            return result;
        }
        let keys: Vec<(Span, usize)> = events.iter().map(|event| (event.span, event.key.len())).collect();
        let comparable = self.check_keys(&keys);
        let mut targets = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let Some(places) = self.event(event) else { continue };
            self.check_moved(event.span, &[&places], None, &[]);
            result.events.push((places.identity.clone(), event.span));
            if let Some(times) = &event.times {
                if matches!(times.node, crate::loom::filter::tree::Node::Constant(n) if n < 1) {
                    self.error(times.span, "an event happens at least once", None);
                }
            }
            let times = event.times.as_slice();
            if index > 0 {
                for slot in first_entering(graph, &places) {
                    let at = Where { point: slot.point, line: slot.line, at_entry: false };
                    let mut down = operation(slot, plan::OP_DOWN, self.key(at, &event.key), true);
                    down.step = index as u8 - 1;
                    down.times = self.key(at, times);
                    targets.push(slot.point);
                    result.operations.push(down);
                }
            }
            if index + 1 < events.len() {
                let last = last_leaving(graph, &places);
                if last.is_empty() {
                    let message = format!("control never comes behind `{}:{}`", event.file, event.line);
                    self.error(
                        event.span,
                        message,
                        Some("what comes after it would wait forever".to_owned()),
                    );
                }
                for slot in last {
                    let at = Where { point: slot.point, line: slot.line, at_entry: false };
                    let mut up = operation(slot, plan::OP_UP, self.key(at, &event.key), false);
                    up.step = index as u8;
                    up.times = self.key(at, times);
                    targets.push(slot.point);
                    result.operations.push(up);
                }
            }
        }
        if !comparable {
            return Operations::default();
        }
        let question = Question { targets: &targets, barriers: &[], creators: true, starts: &self.starts };
        result.add_unsafe(graph, &backward(graph, question));
        dedup(&mut result.operations);
        result
    }
}

fn operation(slot: SlotAt, kind: u8, key: Option<Vec<Instruction>>, before: bool) -> Operation {
    Operation { point: slot.point, kind, step: 0, key, times: None, flags: 0, line: slot.line, before }
}

/// One operation of a kind is enough at a slot: a slot can enter a line in two inlined copies at once.
fn dedup(operations: &mut Vec<Operation>) {
    let mut seen = HashSet::new();
    operations.retain(|operation| {
        let Operation { point, kind, step, flags, .. } = *operation;
        seen.insert((point, kind, step, flags, operation.key.clone()))
    });
}

/// Orders that contradict each other: an event that would have to happen before itself.
pub(super) fn contradiction(source: &str, orders: &[Vec<(String, Span)>]) -> Option<Diagnostic> {
    let mut after: BTreeMap<&str, Vec<(&str, Span)>> = BTreeMap::new();
    for order in orders {
        for pair in order.windows(2) {
            after.entry(&pair[0].0).or_default().push((&pair[1].0, pair[1].1));
        }
    }
    for start in after.keys().copied() {
        // A path from an event back to itself, by breadth, so that the shortest is shown.
        let mut from: BTreeMap<&str, (&str, Span)> = BTreeMap::new();
        let mut work = std::collections::VecDeque::from([start]);
        while let Some(event) = work.pop_front() {
            for &(next, span) in after.get(event).map(Vec::as_slice).unwrap_or_default() {
                if from.contains_key(next) {
                    continue;
                }
                from.insert(next, (event, span));
                if next == start {
                    let mut path = vec![start];
                    let mut at = event;
                    while at != start {
                        path.push(at);
                        at = from[at].0;
                    }
                    path.push(start);
                    path.reverse();
                    let message =
                        format!("a deadlock: `{}` would have to happen before itself", path.join(" > "));
                    return Some(Diagnostic::error(source, span, message));
                }
                work.push_back(next);
            }
        }
    }
    None
}
