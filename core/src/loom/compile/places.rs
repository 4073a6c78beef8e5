//! Where events and functions are: the slots that enter and leave a line, or a function.
//!
//! # Statements of several lines
//! Code of one statement can be on several lines: of a call whose arguments stand on lines 6 and 7, what is run goes 6, 7,
//! 6. An event is the statement: it begins at the first slot that enters its line and ends at the last one that
//! leaves it, as far as the control flow without back edges says so for certain ([`first_entering`],
//! [`last_leaving`]). A region's exit may be postponed further ([`last_leaving_of_region`]).
//!
//! A loop's copies, if it was unrolled, have the line once each, without a back edge between. The loop may end in each of them: so
//! the statement ends there, and where it may have ended it begins anew.
//! Limit: where a loop that counts was unrolled, so that it does not end in between, its copies are one statement.

use super::names::{
    different_files, is_end_of_path, last_component, listed, means_function, means_unnamed, similar,
    without_parameters,
};
use super::Options;
use crate::loom::filter::tree::{Event, Name};
use crate::loom::filter::{Diagnostic, Span};
use crate::loom::graph::{FunctionId, Graph, PointId};
use crate::loom::table::{Line, PointKind, UnitTable};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What the linkage names of a coroutine's parts end with, that which runs its body first.
const COROUTINE_PARTS: [&str; 3] = [".resume", ".destroy", ".cleanup"];

/// A slot, and the line that it enters or leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SlotAt {
    pub(super) point: PointId,
    pub(super) line: Line,
}

/// Where something begins and ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Slots that enter it.
    pub(super) entering: Vec<SlotAt>,
    /// Slots that leave it.
    pub(super) leaving: Vec<SlotAt>,
    /// What it is, for comparison: path and line, or a linkage name.
    pub(super) identity: String,
}

/// Looks names up.
pub(super) struct Finder<'g, 'a> {
    pub(super) graph: &'g Graph<'a>,
    pub(super) options: &'g Options<'g>,
    pub(super) source: &'g str,
    /// By unit: the texts that are files of lines.
    files: Vec<Vec<u32>>,
}

impl<'g, 'a> Finder<'g, 'a> {
    pub(super) fn new(graph: &'g Graph<'a>, options: &'g Options<'g>, source: &'g str) -> Self {
        let files = graph
            .program
            .units
            .iter()
            .map(|unit| {
                let files: BTreeSet<u32> = unit.table.chains.iter().flatten().map(|line| line.file).collect();
                files.into_iter().collect()
            })
            .collect();
        Finder { graph, options, source, files }
    }

    fn table(&self, unit: usize) -> &'a UnitTable {
        &self.graph.program.units[unit].table
    }

    /// The files that an event means: texts by unit.
    fn files_of(&self, event: &Event) -> Result<Vec<(usize, u32)>, Diagnostic> {
        let all = || {
            self.files
                .iter()
                .enumerate()
                .flat_map(|(unit, files)| files.iter().map(move |&file| (unit, file)))
        };
        let path = |(unit, file): (usize, u32)| self.graph.text(unit, file);
        let found: Vec<(usize, u32)> = all().filter(|&at| is_end_of_path(&event.file, path(at))).collect();
        let different = different_files(found.iter().map(|&at| path(at)));
        if different.len() > 1 {
            let message = format!("`{}` may be {}", event.file, listed(different.iter().map(String::as_str)));
            return Err(
                Diagnostic::error(self.source, event.span, message).with_help("write more of its path")
            );
        }
        if found.is_empty() {
            let error = Diagnostic::error(
                self.source,
                event.span,
                format!("no file `{}` in the program", event.file),
            );
            let names: BTreeSet<&str> = all().map(|at| last_component(path(at))).collect();
            let wanted = last_component(&event.file);
            let close = if names.contains(wanted) {
                all()
                    .map(path)
                    .filter(|path| last_component(path) == wanted)
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .collect()
            } else {
                similar(wanted, names)
            };
            return Err(match close.is_empty() {
                true => error.with_help("files of code that was not compiled with loom are not known"),
                false => error.with_help(format!("did you mean {}?", listed(close))),
            });
        }
        Ok(found)
    }

    /// The slots of an event.
    pub(super) fn event(&self, event: &Event) -> Result<Places, Diagnostic> {
        let files = self.files_of(event)?;
        let mut places = Places { identity: self.identity(event, &files), ..Places::default() };
        let mut limited: BTreeMap<&str, &str> = BTreeMap::new();
        for unit in 0..self.graph.program.units.len() {
            let table = self.table(unit);
            let here = |line: &Line| line.line == event.line && files.contains(&(unit, line.file));
            let chains: Vec<Vec<Line>> =
                table.chains.iter().map(|chain| chain.iter().copied().filter(here).collect()).collect();
            if chains.iter().all(Vec::is_empty) {
                continue;
            }
            for (number, function) in table.functions.iter().enumerate() {
                let first = self.graph.place(self.graph.function_id(unit, number)).first;
                for (index, point) in function.points.iter().enumerate() {
                    let new = &chains[point.chain as usize];
                    if !new.is_empty() && !function.limit.is_empty() {
                        limited.insert(self.graph.text(unit, function.name), &function.limit);
                    }
                    let PointKind::Slot { from, .. } = &point.kind else { continue };
                    let old = &chains[*from as usize];
                    let point = first + index as PointId;
                    let entered = new.iter().filter(|line| !old.contains(line));
                    places.entering.extend(entered.map(|&line| SlotAt { point, line }));
                    let left = old.iter().filter(|line| !new.contains(line));
                    places.leaving.extend(left.map(|&line| SlotAt { point, line }));
                }
            }
        }
        if let Some((name, limit)) = limited.iter().next() {
            let message = format!(
                "line {} is in `{}`, which filters cannot change: {limit}",
                event.line,
                self.shown(name)
            );
            return Err(Diagnostic::error(self.source, event.span, message));
        }
        if places.entering.is_empty() {
            return Err(self.no_code(event, &files));
        }
        self.check_tail_calls(event.span, &format!("{}:{}", event.file, event.line), &places)?;
        Ok(places)
    }

    fn identity(&self, event: &Event, files: &[(usize, u32)]) -> String {
        let paths = different_files(files.iter().map(|&(unit, file)| self.graph.text(unit, file)));
        format!("{}:{}", paths.concat(), event.line)
    }

    fn no_code(&self, event: &Event, files: &[(usize, u32)]) -> Diagnostic {
        let mut lines = BTreeSet::new();
        for unit in 0..self.graph.program.units.len() {
            let table = self.table(unit);
            let used = table
                .functions
                .iter()
                .filter(|function| function.limit.is_empty())
                .flat_map(|function| &function.points);
            for point in used.filter(|point| matches!(point.kind, PointKind::Slot { .. })) {
                let chain = &table.chains[point.chain as usize];
                lines.extend(
                    chain.iter().filter(|line| files.contains(&(unit, line.file))).map(|line| line.line),
                );
            }
        }
        let before = lines.range(..event.line).next_back();
        let after = lines.range(event.line + 1..).next();
        let error = Diagnostic::error(
            self.source,
            event.span,
            format!("line {} of `{}` has no code", event.line, event.file),
        );
        match (before, after) {
            (Some(before), Some(after)) => {
                error.with_help(format!("the nearest lines with code are {before} and {after}"))
            }
            (Some(line), None) | (None, Some(line)) => {
                error.with_help(format!("the nearest line with code is {line}"))
            }
            (None, None) => error,
        }
    }

    /// A function as people know it.
    pub(super) fn shown(&self, linkage: &str) -> String {
        (self.options.demangle)(linkage).unwrap_or_else(|| linkage.to_owned())
    }

    /// The linkage names that a name means.
    pub(super) fn function_names(&self, name: &Name) -> Result<BTreeSet<&'a str>, Diagnostic> {
        let mut known: BTreeSet<&'a str> = BTreeSet::new();
        for (unit, linked) in self.graph.program.units.iter().enumerate() {
            let inlined = linked.table.chains.iter().flatten().map(|line| line.function);
            let defined = linked.table.functions.iter().map(|function| function.name);
            known.extend(defined.chain(inlined).map(|text| self.graph.text(unit, text)));
        }
        let mut found: BTreeMap<String, BTreeSet<&'a str>> = BTreeMap::new();
        for &linkage in &known {
            let demangled = (self.options.demangle)(linkage);
            if linkage == name.text {
                return Ok(BTreeSet::from([linkage]));
            }
            if means_function(&name.text, linkage, demangled.as_deref()) {
                found.entry(demangled.unwrap_or_default()).or_default().insert(linkage);
            }
        }
        if found.is_empty() {
            for &linkage in &known {
                let demangled = (self.options.demangle)(linkage);
                if let Some(demangled) = demangled.filter(|full| means_unnamed(&name.text, full)) {
                    found.entry(demangled).or_default().insert(linkage);
                }
            }
        }
        // What clang makes of a coroutine's body has the coroutine's own name, too.
        let all: BTreeSet<&str> = found.values().flatten().copied().collect();
        let is_part = |linkage: &str| {
            COROUTINE_PARTS.iter().any(|part| linkage.strip_suffix(part).is_some_and(|own| all.contains(own)))
        };
        found.retain(|_, names| !names.iter().all(|&linkage| is_part(linkage)));
        if found.len() > 1 {
            let shown = found.keys().map(|name| format!("`\"{name}\"`")).collect::<Vec<_>>().join(", ");
            let message = format!("`{}` may be one of {} functions", name.text, found.len());
            return Err(Diagnostic::error(self.source, name.span, message)
                .with_help(format!("write one with its parameters, in quotes: {shown}")));
        }
        match found.into_values().next() {
            Some(names) => Ok(names),
            None => Err(self.no_function(name, &known)),
        }
    }

    fn no_function(&self, name: &Name, known: &BTreeSet<&str>) -> Diagnostic {
        let shown: BTreeSet<String> = known
            .iter()
            .map(|linkage| {
                let demangled = (self.options.demangle)(linkage);
                demangled.map_or_else(|| (*linkage).to_owned(), |name| without_parameters(&name).to_owned())
            })
            .collect();
        let error =
            Diagnostic::error(self.source, name.span, format!("no function `{}` in the program", name.text));
        let close = similar(&name.text, shown.iter().map(String::as_str));
        error.with_help(match close.is_empty() {
            true => "only functions that were compiled with --loom can be named; of another one, name the line that calls it"
                .to_owned(),
            false => format!("did you mean {}?", listed(close)),
        })
    }

    /// The call of a coroutine only makes it, which is hardly what a filter is about.
    fn check_coroutine(&self, name: &Name, names: &BTreeSet<&str>) -> Result<(), Diagnostic> {
        let functions = (0..self.graph.function_count() as FunctionId).map(|id| {
            let unit = self.graph.place(id).unit;
            self.graph.text(unit, self.graph.function(id).name)
        });
        let mut parts =
            functions.filter_map(|linkage| Some((linkage, linkage.strip_suffix(COROUTINE_PARTS[0])?)));
        let Some((resumed, _)) = parts.find(|(_, own)| names.contains(own) && *own != name.text) else {
            return Ok(());
        };
        let message = format!("`{}` is a coroutine: a call of it only makes it", name.text);
        let help = format!(
            "name lines of it, or `\"{}\"`, which runs from one suspension to the next",
            self.shown(resumed)
        );
        Err(Diagnostic::error(self.source, name.span, message).with_help(help))
    }

    /// The slots of a function: of itself, and of its inlined copies.
    pub(super) fn function(&self, name: &Name) -> Result<(Places, BTreeSet<&'a str>), Diagnostic> {
        let names = self.function_names(name)?;
        self.check_coroutine(name, &names)?;
        let mut places = Places::default();
        for (unit, linked) in self.graph.program.units.iter().enumerate() {
            let is = |text: u32| names.contains(self.graph.text(unit, text));
            let chains: Vec<Vec<Line>> = linked
                .table
                .chains
                .iter()
                .map(|chain| chain.iter().copied().filter(|line| is(line.function)).collect())
                .collect();
            for (number, function) in linked.table.functions.iter().enumerate() {
                let own = is(function.name);
                let copied = function.points.iter().any(|point| !chains[point.chain as usize].is_empty());
                if !own && !copied {
                    continue;
                }
                if !function.limit.is_empty() || function.points.is_empty() {
                    let limit =
                        if function.limit.is_empty() { "it is not instrumented" } else { &function.limit };
                    let within = self.shown(self.graph.text(unit, function.name));
                    let message = if own {
                        format!("filters cannot change `{within}`: {limit}")
                    } else {
                        format!(
                            "`{}` is inlined into `{within}`, which filters cannot change: {limit}",
                            name.text
                        )
                    };
                    return Err(Diagnostic::error(self.source, name.span, message));
                }
                let id = self.graph.function_id(unit, number);
                if own {
                    self.own_slots(id, &chains, &mut places);
                } else {
                    self.copies(id, &chains, &mut places);
                }
            }
        }
        if places.entering.is_empty() {
            let message = format!("`{}` has no code of its own", name.text);
            return Err(Diagnostic::error(self.source, name.span, message));
        }
        self.check_tail_calls(name.span, &name.text, &places)?;
        places.identity = names.iter().copied().collect::<Vec<_>>().join(" ");
        Ok((places, names))
    }

    /// Nothing can stand between a call that takes its caller's place and the return: the last slot is before the call.
    fn check_tail_calls(&self, span: Span, what: &str, places: &Places) -> Result<(), Diagnostic> {
        let graph = self.graph;
        let is_before_call = |slot: &&SlotAt| {
            let (function, point) = (graph.function_of(slot.point), graph.point(slot.point));
            let chains = &self.table(graph.place(function).unit).chains;
            let is_call = |id: PointId| matches!(graph.point(id).kind, PointKind::Call { .. });
            chains[point.chain as usize].is_empty() && graph.next(slot.point).any(is_call)
        };
        let Some(slot) = places.leaving.iter().find(is_before_call) else { return Ok(()) };
        let function = graph.function_of(slot.point);
        let name = self.shown(graph.text(graph.place(function).unit, graph.function(function).name));
        let message = format!(
            "`{what}` ends in a call that takes the place of `{name}` (musttail): it would count as left before that call"
        );
        Err(Diagnostic::error(self.source, span, message)
            .with_help("name the called function as well, or instead"))
    }

    /// The first slots of a function, and those before it returns or is unwound.
    fn own_slots(&self, id: FunctionId, chains: &[Vec<Line>], places: &mut Places) {
        let graph = self.graph;
        let place = graph.place(id);
        let function = graph.function(id);
        let line = |chain: u32| {
            let own =
                chains[chain as usize].iter().find(|line| line.copy == 0 && line.function == function.name);
            own.copied().unwrap_or(Line {
                function: function.name,
                file: function.file,
                line: function.line,
                copy: 0,
            })
        };
        let ends = (place.first..place.first + place.count)
            .filter(|&id| matches!(graph.point(id).kind, PointKind::Return | PointKind::Unwind))
            .collect::<Vec<_>>();
        let first = slots_next_to(graph, &[place.first], |id| graph.next(id).collect());
        // A call that an exception passes has no slot behind it: where that lands, the region is left. The slots before
        // the call are in the region.
        let last = slots_next_to(graph, &ends, |id| {
            let passed = |before: &PointId| {
                matches!(graph.point(id).kind, PointKind::Unwind)
                    && matches!(graph.point(*before).kind, PointKind::Call { .. })
            };
            graph.before(id).iter().copied().filter(|before| !passed(before)).collect()
        });
        places
            .entering
            .extend(first.into_iter().map(|point| SlotAt { point, line: line(graph.point(point).chain) }));
        places.leaving.extend(last.into_iter().map(|point| {
            let from = match graph.point(point).kind {
                PointKind::Slot { from, .. } => from,
                _ => graph.point(point).chain,
            };
            SlotAt { point, line: line(from) }
        }));
    }

    /// Inlined copies: of copies inside of each other, as of a function that calls itself, the outermost counts.
    fn copies(&self, id: FunctionId, chains: &[Vec<Line>], places: &mut Places) {
        let first = self.graph.place(id).first;
        for (index, point) in self.graph.function(id).points.iter().enumerate() {
            let PointKind::Slot { from, .. } = &point.kind else { continue };
            let (old, new) = (chains[*from as usize].last(), chains[point.chain as usize].last());
            if let (Some(old), Some(new)) = (old, new) {
                if (old.function, old.copy) == (new.function, new.copy) {
                    continue;
                }
            }
            let at = |line: &Line| SlotAt { point: first + index as PointId, line: *line };
            places.leaving.extend(old.map(at));
            places.entering.extend(new.map(at));
        }
    }
}

/// The slots that are come to from `starts` before any other slot.
fn slots_next_to(
    graph: &Graph<'_>,
    starts: &[PointId],
    step: impl Fn(PointId) -> Vec<PointId>,
) -> Vec<PointId> {
    let mut seen: HashSet<PointId> = HashSet::new();
    let mut work: Vec<PointId> = starts.iter().flat_map(|&id| step(id)).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = work.pop() {
        if !seen.insert(id) {
            continue;
        }
        match graph.point(id).kind {
            PointKind::Slot { .. } => {
                found.insert(id);
            }
            _ => work.extend(step(id)),
        }
    }
    found.into_iter().collect()
}

/// Lines by function, each once.
fn by_line(graph: &Graph<'_>, slots: &[SlotAt]) -> Vec<(FunctionId, Line)> {
    let mut found: Vec<(FunctionId, Line)> = Vec::new();
    let mut seen = HashSet::new();
    for slot in slots {
        let key = (graph.function_of(slot.point), slot.line);
        if seen.insert(key) {
            found.push(key);
        }
    }
    found
}

fn of_line(graph: &Graph<'_>, slots: &[SlotAt], function: FunctionId, line: Line) -> HashSet<PointId> {
    let own = slots.iter().filter(|slot| slot.line == line && graph.function_of(slot.point) == function);
    own.map(|slot| slot.point).collect()
}

/// The slots at which a statement begins: those at which every way, back edges aside, comes from the same line are left out, if
/// the statement has not ended on that way.
pub(super) fn first_entering(graph: &Graph<'_>, places: &Places) -> Vec<SlotAt> {
    let last = last_leaving(graph, places);
    filter_by_line(graph, &places.entering, |function, line| {
        let ended = of_line(graph, &last, function, line);
        let mut left = of_line(graph, &places.leaving, function, line);
        left.retain(|id| !ended.contains(id));
        let place = graph.place(function);
        let range = place.first..place.first + place.count;
        // Points behind which some way does not come from the line.
        let mut other: HashSet<PointId> = HashSet::new();
        let mut work: Vec<PointId> = range
            .filter(|&id| !left.contains(&id))
            .filter(|&id| {
                matches!(
                    graph.point(id).kind,
                    PointKind::Check { .. } | PointKind::Entry { .. } | PointKind::Landing { .. }
                ) || ended.contains(&id)
                    || graph.before(id).is_empty()
            })
            .collect();
        while let Some(id) = work.pop() {
            if other.insert(id) {
                work.extend(graph.next(id).filter(|next| !left.contains(next)));
            }
        }
        Box::new(move |point| graph.before(point).iter().any(|before| other.contains(before)))
    })
}

/// The slots at which a statement ends: those from which every way, back edges and exceptions aside, comes to the same
/// line again are left out.
pub(super) fn last_leaving(graph: &Graph<'_>, places: &Places) -> Vec<SlotAt> {
    filter_by_line(graph, &places.leaving, |function, line| {
        let entered = of_line(graph, &places.entering, function, line);
        let place = graph.place(function);
        let range = place.first..place.first + place.count;
        // Points from which some way does not come to the line.
        let mut other: HashSet<PointId> = HashSet::new();
        let mut work: Vec<PointId> = range
            .filter(|&id| !entered.contains(&id))
            .filter(|&id| {
                matches!(graph.point(id).kind, PointKind::Check { .. }) || graph.point(id).next.is_empty()
            })
            .collect();
        while let Some(id) = work.pop() {
            if !other.insert(id) {
                continue;
            }
            for &before in graph.before(id) {
                let is_call = matches!(graph.point(before).kind, PointKind::Call { .. });
                let thrown = is_call && graph.next(before).next() != Some(id);
                if !entered.contains(&before) && !thrown {
                    work.push(before);
                }
            }
        }
        Box::new(move |point| graph.next(point).any(|next| other.contains(&next)))
    })
}

/// The slots at which a region's exit has been passed: those from which the line may be come to again, back edges and
/// the region's entries aside, are left out. Where it is not come to again, the region is left without its exit.
pub(super) fn last_leaving_of_region(
    graph: &Graph<'_>,
    places: &Places,
    entries: &HashSet<PointId>,
) -> Vec<SlotAt> {
    filter_by_line(graph, &places.leaving, |function, line| {
        let mut again: HashSet<PointId> = HashSet::new();
        let mut work: Vec<PointId> = of_line(graph, &places.entering, function, line).into_iter().collect();
        work.retain(|id| !entries.contains(id));
        while let Some(id) = work.pop() {
            if again.insert(id) {
                let passes = |before: &PointId| {
                    !entries.contains(before) && !matches!(graph.point(*before).kind, PointKind::Check { .. })
                };
                work.extend(graph.before(id).iter().copied().filter(passes));
            }
        }
        Box::new(move |point| !graph.next(point).any(|next| again.contains(&next)))
    })
}

type Keep<'k> = Box<dyn Fn(PointId) -> bool + 'k>;

fn filter_by_line<'k>(
    graph: &'k Graph<'_>,
    slots: &[SlotAt],
    keep: impl Fn(FunctionId, Line) -> Keep<'k>,
) -> Vec<SlotAt> {
    let mut kept = Vec::new();
    for (function, line) in by_line(graph, slots) {
        let keep = keep(function, line);
        let own = slots.iter().filter(|slot| slot.line == line && graph.function_of(slot.point) == function);
        kept.extend(own.filter(|slot| keep(slot.point)).copied());
    }
    kept.sort_by_key(|slot| slot.point);
    kept
}
