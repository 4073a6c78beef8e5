//! What `covsched epochs` and `print<covsched-epochs>` say: every marker, why each loop that may synchronize has one or
//! has none, recursion, limits, and what is not bounded. Text: one line a thing; JSON: the keys below are a contract.

use super::apply::{header_of, location_of, NewSites};
use super::effects::{Effects, Trivial};
use super::extract::Extracted;
use super::place::{Cover, Cycle, Decision, Decisions, LoopDecision, Mark, RecursionDecision, Why};
use super::program::{Action, BlockId, FunctionId, Program, Step};
use super::verify;
use crate::demangle;
use crate::ir::Location;
use crate::parameters::EpochOptions;
use crate::report::limits::{Limit, Limits};
use covsched_core::SiteId;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// All that is to say about a module's epochs.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Of this format.
    pub version: u32,
    /// The module was taken for all of the program.
    pub whole_program: bool,
    /// The markers stand in the program; else they are those that it would get.
    pub placed: bool,
    /// In the program's order.
    pub markers: Vec<Marker>,
    /// Loops that synchronize or spin.
    pub loops: Vec<LoopLine>,
    /// Functions that call each other and synchronize.
    pub recursions: Vec<RecursionLine>,
    /// What could not be done.
    pub limits: Vec<LimitLine>,
    /// Where a thread can synchronize any number of times without a marker.
    pub unbounded: Vec<UnboundedLine>,
    /// How many.
    pub summary: Summary,
}

/// An epoch marker.
#[derive(Clone, Debug, Serialize)]
pub struct Marker {
    /// Its site, as in schedules.
    pub site: String,
    /// File, empty if unknown.
    pub file: String,
    /// Line, 0 if unknown.
    pub line: u32,
    /// Column, 0 if unknown.
    pub column: u32,
    /// Demangled.
    pub function: String,
    /// `loop`, `spin` or `recursion`.
    pub why: &'static str,
}

/// A loop.
#[derive(Clone, Debug, Serialize)]
pub struct LoopLine {
    /// Where it starts.
    pub file: String,
    /// See above.
    pub line: u32,
    /// See above.
    pub column: u32,
    /// Whose it is.
    pub function: String,
    /// `marker`, `spin`, `trivial`, `covered`, `barrier` or `limit`.
    pub decision: &'static str,
    /// The site of its own marker.
    pub marker: Option<String>,
    /// The sites of markers that each iteration passes.
    pub covered_by: Vec<String>,
    /// The functions in which they stand.
    pub through: Vec<String>,
    /// A barrier that each iteration passes.
    pub barrier: Option<Line>,
    /// In words.
    pub reason: String,
}

/// A place.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// File, empty if unknown.
    pub file: String,
    /// Line, 0 if unknown.
    pub line: u32,
}

/// Functions that call each other.
#[derive(Clone, Debug, Serialize)]
pub struct RecursionLine {
    /// Demangled.
    pub functions: Vec<String>,
    /// The sites of their markers.
    pub markers: Vec<String>,
    /// In words.
    pub reason: String,
}

/// A limit.
#[derive(Clone, Debug, Serialize)]
pub struct LimitLine {
    /// File, empty if unknown.
    pub file: String,
    /// Line, 0 if unknown.
    pub line: u32,
    /// What it is about.
    pub function: String,
    /// In words.
    pub what: &'static str,
}

/// What is not bounded.
#[derive(Clone, Debug, Serialize)]
pub struct UnboundedLine {
    /// File, empty if unknown.
    pub file: String,
    /// Line, 0 if unknown.
    pub line: u32,
    /// Where it is.
    pub function: String,
    /// In words.
    pub why: String,
}

/// Counts.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Summary {
    /// Loops that synchronize or spin.
    pub loops: usize,
    /// Markers.
    pub markers: usize,
    /// Loops that are trivial.
    pub trivial: usize,
    /// Loops that another marker covers.
    pub covered: usize,
    /// Loops that pass a barrier.
    pub barrier: usize,
    /// Loops that spin.
    pub spin: usize,
    /// Recursions.
    pub recursion: usize,
    /// Limits.
    pub limits: usize,
    /// Cycles that are not bounded.
    pub unbounded: usize,
}

/// What a report is made of.
pub struct Source<'r, 'm> {
    /// The program.
    pub extracted: &'r Extracted<'m>,
    /// What was decided.
    pub decisions: &'r Decisions,
    /// The new markers' ids.
    pub sites: &'r NewSites,
    /// What could not be done.
    pub limits: &'r Limits<'m>,
    /// What was asked for.
    pub options: EpochOptions,
    /// The markers stand in the program.
    pub placed: bool,
}

impl Report {
    /// Puts everything together.
    pub fn of(source: &Source<'_, '_>) -> Report {
        let effects = Effects::of_functions(&source.extracted.program);
        let loops: Vec<LoopLine> =
            source.decisions.loops.iter().map(|decision| source.loop_line(decision, &effects)).collect();
        let recursions: Vec<RecursionLine> =
            source.decisions.recursions.iter().map(|decision| source.recursion_line(decision)).collect();
        let mut report = Report {
            version: 1,
            whole_program: source.options.whole_program,
            placed: source.placed,
            markers: source.markers(),
            loops,
            recursions,
            limits: source
                .limits
                .iter()
                .map(|(limit, location, subject)| limit_line(limit, location, subject))
                .collect(),
            unbounded: source.unbounded(),
            summary: Summary::default(),
        };
        let count = |decision| report.loops.iter().filter(|line| line.decision == decision).count();
        report.summary = Summary {
            loops: report.loops.len(),
            markers: report.markers.len(),
            trivial: count("trivial"),
            covered: count("covered"),
            barrier: count("barrier"),
            spin: count("spin"),
            recursion: report.recursions.len(),
            limits: report.limits.len(),
            unbounded: report.unbounded.len(),
        };
        report
    }

    /// As JSON, with a line end.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("strings and numbers become JSON");
        text + "\n"
    }

    /// As text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let say = |text: &mut String, what: &str, place: String, function: &str, rest: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{what} {place} {function}: {rest}");
        };
        for line in &self.markers {
            let place = place_text(&line.file, line.line, Some(line.column));
            say(&mut text, "marker", place, &line.function, format!("{} {}", line.site, line.why));
        }
        for line in &self.loops {
            let place = place_text(&line.file, line.line, Some(line.column));
            say(&mut text, "loop", place, &line.function, format!("{}: {}", line.decision, line.reason));
        }
        for line in &self.recursions {
            let _ = writeln!(text, "recursion {}: {}", line.functions.join(", "), line.reason);
        }
        for line in &self.limits {
            let place = place_text(&line.file, line.line, None);
            say(&mut text, "limit", place, &line.function, line.what.to_owned());
        }
        for line in &self.unbounded {
            let place = place_text(&line.file, line.line, None);
            say(&mut text, "unbounded", place, &line.function, line.why.clone());
        }
        let _ = writeln!(text, "{}", self.summary.line());
        text
    }
}

impl Summary {
    /// In one line.
    pub fn line(&self) -> String {
        let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        format!(
            "{}, {}: {} trivial, {} covered, {} barrier, {} spin; {}; {}; {} unbounded",
            many(self.markers, "marker"),
            many(self.loops, "loop"),
            self.trivial,
            self.covered,
            self.barrier,
            self.spin,
            many(self.recursion, "recursion"),
            many(self.limits, "limit"),
            self.unbounded
        )
    }
}

fn place_text(file: &str, line: u32, column: Option<u32>) -> String {
    match (file, column) {
        ("", _) => "-".to_owned(),
        (file, Some(column)) => format!("{file}:{line}:{column}"),
        (file, None) => format!("{file}:{line}"),
    }
}

fn limit_line(limit: Limit, location: &Location, subject: &str) -> LimitLine {
    LimitLine {
        file: location.file.clone(),
        line: location.line,
        function: demangle(subject),
        what: limit.describe(),
    }
}

/// `a`, `b` and 3 more.
fn some_of(names: Vec<String>) -> String {
    const SHOWN: usize = 3;
    if names.len() <= SHOWN {
        return names.join(", ");
    }
    format!("{} and {} more", names[..SHOWN].join(", "), names.len() - SHOWN)
}

impl Source<'_, '_> {
    fn program(&self) -> &Program<'_> {
        &self.extracted.program
    }

    fn name(&self, function: FunctionId) -> String {
        demangle(&self.program().functions[function.0 as usize].name)
    }

    fn site(&self, mark: &Mark) -> Option<SiteId> {
        match mark {
            Mark::Standing(site) => Some(*site),
            Mark::New(function, spot) => self.sites.get(&(*function, *spot)).copied(),
        }
    }

    fn site_names<'a>(&self, marks: impl IntoIterator<Item = &'a Mark>) -> Vec<String> {
        let sites: BTreeSet<SiteId> = marks.into_iter().filter_map(|mark| self.site(mark)).collect();
        sites.into_iter().map(|site| site.to_string()).collect()
    }

    /// Those that stand and those that are new, in the program's order.
    fn markers(&self) -> Vec<Marker> {
        let mut found: BTreeMap<(FunctionId, BlockId, usize, bool), Marker> = BTreeMap::new();
        let mut add = |key, site: SiteId, location: Location, function, why: Why| {
            let why = match why {
                Why::Loop => "loop",
                Why::Spin => "spin",
                Why::Recursion => "recursion",
            };
            let Location { file, line, column } = location;
            found.insert(key, Marker { site: site.to_string(), file, line, column, function, why });
        };
        for (&(function, (block, step)), &why) in &self.decisions.markers {
            let Some(&site) = self.sites.get(&(function, (block, step))) else { continue };
            let location = location_of(self.extracted, function, (block, step));
            add((function, block, step, false), site, location, self.name(function), why);
        }
        for (flow, number) in self.program().functions.iter().zip(0..) {
            for (block, place) in flow.blocks.iter().zip(0..) {
                for (at, step) in block.steps.iter().enumerate() {
                    let (Action::Marker(site), Some(inst)) = (&step.action, step.inst) else { continue };
                    let function = FunctionId(number);
                    let why = self.why_standing(function, *site);
                    add(
                        (function, BlockId(place), at, true),
                        *site,
                        inst.location(),
                        self.name(function),
                        why,
                    );
                }
            }
        }
        found.into_values().collect()
    }

    fn why_standing(&self, function: FunctionId, site: SiteId) -> Why {
        let mark = Some(Mark::Standing(site));
        let of_loop = self.decisions.loops.iter().filter(|line| line.function == function);
        for line in of_loop {
            match &line.decision {
                Decision::Marker(own) if *own == mark => return Why::Loop,
                Decision::Spin(own) if *own == mark => return Why::Spin,
                Decision::Limit(_, marks) if marks.iter().any(|own| Some(*own) == mark) => return Why::Loop,
                _ => {}
            }
        }
        let recursive = self.decisions.recursions.iter().any(|line| line.functions.contains(&function));
        if recursive {
            Why::Recursion
        } else {
            Why::Loop
        }
    }

    fn loop_line(&self, line: &LoopDecision, effects: &[Effects]) -> LoopLine {
        let location = self.loop_location(line);
        let (decision, marker, cover) = match &line.decision {
            Decision::Marker(mark) => ("marker", *mark, None),
            Decision::Spin(mark) => ("spin", *mark, None),
            Decision::Trivial(_) => ("trivial", None, None),
            Decision::Covered(cover) => ("covered", None, Some(cover)),
            Decision::Barrier(cover) => ("barrier", None, Some(cover)),
            Decision::Limit(_, marks) => ("limit", marks.first().copied(), None),
        };
        let barrier = cover.and_then(|cover| cover.barriers.first()).map(|&(function, block, step)| {
            let step = &self.program().functions[function.0 as usize].blocks[block.0 as usize].steps[step];
            let Location { file, line, .. } = step.inst.map(|inst| inst.location()).unwrap_or_default();
            Line { file, line }
        });
        LoopLine {
            file: location.file,
            line: location.line,
            column: location.column,
            function: self.name(line.function),
            decision,
            marker: marker.and_then(|mark| self.site(&mark)).map(|site| site.to_string()),
            covered_by: cover.map_or_else(Vec::new, |cover| self.site_names(&cover.markers)),
            through: cover.map_or_else(Vec::new, |cover| self.through(cover)),
            reason: self.reason(line, cover, barrier.as_ref(), effects),
            barrier,
        }
    }

    fn through(&self, cover: &Cover) -> Vec<String> {
        cover.through.iter().map(|&function| self.name(function)).collect()
    }

    fn loop_location(&self, line: &LoopDecision) -> Location {
        let header = header_of(self.extracted, line.function, &line.cycle);
        location_of(self.extracted, line.function, (header, 0))
    }

    fn reason(
        &self,
        line: &LoopDecision,
        cover: Option<&Cover>,
        barrier: Option<&Line>,
        effects: &[Effects],
    ) -> String {
        let what = || self.what_synchronizes(line, effects);
        match &line.decision {
            Decision::Marker(Some(_)) => format!("may synchronize each time round: {}", what()),
            Decision::Marker(None) => {
                format!("may synchronize each time round and has no marker: {}", what())
            }
            Decision::Spin(Some(_)) => "waits for what another thread writes to memory".to_owned(),
            Decision::Spin(None) => {
                "waits for what another thread writes to memory and has no marker".to_owned()
            }
            Decision::Trivial(Trivial::Waits) => {
                "only waits on a condition variable, and all notifications are bounded".to_owned()
            }
            Decision::Trivial(Trivial::Creates) => {
                "only creates threads, and ends whatever that gives".to_owned()
            }
            Decision::Trivial(Trivial::Joins) => {
                "only joins threads, and ends whatever that gives".to_owned()
            }
            Decision::Barrier(_) | Decision::Covered(_) => {
                let cover = cover.cloned().unwrap_or_default();
                let mut passed = Vec::new();
                let sites = self.site_names(&cover.markers);
                if !sites.is_empty() {
                    passed.push(format!("marker {}", some_of(sites)));
                }
                if let Some(barrier) = barrier {
                    passed.push(format!("the barrier at {}", place_text(&barrier.file, barrier.line, None)));
                }
                let through = self.through(&cover);
                let by =
                    if through.is_empty() { String::new() } else { format!(" through {}", some_of(through)) };
                format!("passes {} each time round{by}", passed.join(" or "))
            }
            Decision::Limit(limit, _) if line.effects.is_empty() => {
                format!("{}; it waits for what another thread writes to memory", limit.describe())
            }
            Decision::Limit(limit, _) => format!("{}; it may synchronize: {}", limit.describe(), what()),
        }
    }

    /// `pthread_mutex_lock, push()`: the first steps of a loop that synchronize.
    fn what_synchronizes(&self, line: &LoopDecision, effects: &[Effects]) -> String {
        let flow = &self.program().functions[line.function.0 as usize];
        let blocks: BTreeSet<BlockId> = match &line.cycle {
            Cycle::Loop(id) => flow.loops[id.0 as usize].blocks.iter().copied().collect(),
            Cycle::Irreducible(blocks) => blocks.clone(),
        };
        let steps = blocks.iter().flat_map(|block| &flow.blocks[block.0 as usize].steps);
        let mut names: Vec<String> = Vec::new();
        for step in steps.filter(|step| !Effects::of_step(step, effects).is_empty()) {
            let name = self.step_name(step, effects);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        some_of(names)
    }

    fn step_name(&self, step: &Step<'_>, effects: &[Effects]) -> String {
        match &step.action {
            Action::Synchronizes(op) => op.name().to_owned(),
            Action::Marker(_) => String::new(),
            Action::Calls { functions, unknown, .. } => {
                let known = functions.iter().find(|id| !effects[id.0 as usize].is_empty());
                match known {
                    Some(&function) if !unknown || functions.len() == 1 => self.name(function),
                    _ => "code that is not known".to_owned(),
                }
            }
        }
    }

    fn recursion_line(&self, line: &RecursionDecision) -> RecursionLine {
        let mut markers = line.markers.clone();
        // Those that stand and belong to no loop.
        for &function in &line.functions {
            let flow = &self.program().functions[function.0 as usize];
            for step in flow.blocks.iter().flat_map(|block| &block.steps) {
                if let Action::Marker(site) = step.action {
                    if self.why_standing(function, site) == Why::Recursion {
                        markers.push(Mark::Standing(site));
                    }
                }
            }
        }
        let reason = match (markers.is_empty(), line.limit) {
            (_, Some(limit)) => format!("synchronizes at any depth without a marker: {}", limit.describe()),
            (false, None) => "may synchronize at any depth".to_owned(),
            (true, None) => {
                "between two of its calls it does not synchronize, passes a marker, or is trivial as a loop may be".to_owned()
            }
        };
        RecursionLine {
            functions: line.functions.iter().map(|&function| self.name(function)).collect(),
            markers: self.site_names(&markers),
            reason,
        }
    }

    /// What is not bounded once the new markers stand.
    fn unbounded(&self) -> Vec<UnboundedLine> {
        let mut program = self.program().clone();
        // From the last to the first, so that the places of the others stay.
        for (&(function, (block, step)), &site) in self.sites.iter().rev() {
            let steps = &mut program.functions[function.0 as usize].blocks[block.0 as usize].steps;
            steps.insert(step, Step { inst: None, action: Action::Marker(site), is_invoke: false });
        }
        let found = verify::check(&program).into_iter();
        found
            .map(|found| UnboundedLine {
                file: found.location.file,
                line: found.location.line,
                function: demangle(&found.function),
                why: found.why,
            })
            .collect()
    }
}
