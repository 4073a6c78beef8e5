//! `sync-unroll<factor=N>`: loops that separate epochs do so every N iterations (Bergan 3.5).
//!
//! Only loops that carry an epoch marker, or would, are unrolled: no others end epochs. [`super::place`] decides that,
//! with its rules on; what it leaves without a marker (trivial, covered by another marker, with a barrier, without
//! synchronization) is left alone here. Loops that only spin get a marker so that others can go on, and are left alone,
//! too: there is nothing in them that a longer epoch would hold together.
//!
//! LLVM's own unroller does the work ([`crate::ir::unroll`]). Constant numbers of iterations up to N leave no loop;
//! larger ones and those known before the loop runs leave a loop with N copies and a remainder; others keep all exits
//! in each of N copies. A marker that is there already is then in the loop's header once, and once in the remainder.
//! Other loops may rely on a marker (those around it, or around calls of its function). A loop with a remainder may run
//! neither part, so such a loop keeps all exits instead, and its header runs whenever it did. If no loop is left, what
//! relied on its marker is placed again and, since it now carries one, unrolled: until nothing changes.
//!
//! Where it deviates from the paper: Bergan unrolls before he places; here both orders give the same markers.
//!
//! `#pragma nounroll` is heeded, except in a module in which no loop at all may be unrolled: clang marks each loop so at
//! -O1 and with -fno-unroll-loops, and the two look the same. A module with a single loop counts as the former.
//!
//! What is not unrolled has a reason: as an optimization remark (`-Rpass-missed=sync-unroll`; what was done is
//! `-Rpass=`, what a rule leaves alone `-Rpass-analysis=`), and as a line with `verbose`.

use super::effects::Trivial;
use super::extract::{Details, Extracted};
use super::place::{place, Cycle, Decision, Decisions, Hints, Mark};
use super::program::{Action, Flow, FunctionId};
use crate::analysis::calls::EPOCH_MARKER;
use crate::ir::flow::Place;
use crate::ir::unroll::{LoopToUnroll, Manner, Obstacle, Remark, Unrolled};
use crate::ir::Module;
use crate::parameters::{EpochOptions, UnrollOptions};
use std::collections::BTreeSet;

/// Unrolls. Returns whether the module changed.
pub fn unroll(module: Module<'_>, options: UnrollOptions) -> bool {
    let epochs = EpochOptions { whole_program: options.whole_program, ..EpochOptions::default() };
    // clang at -O1 forbids it in every loop, which says nothing about any of them.
    let heed_disabled = !module.disables_all_unrolling();
    let manner = Manner { factor: options.factor, heed_disabled, marker: EPOCH_MARKER };
    let mut report = Report::default();
    let mut changed = false;
    loop {
        let extracted = Extracted::of(module, epochs);
        report.round += 1;
        if !unroll_once(&extracted, epochs, manner, &mut report) {
            break;
        }
        changed = true;
        if has_markers(&extracted) {
            super::place_markers(module, epochs);
        }
    }
    if options.verbose {
        report.print(&module.source_name());
    }
    changed
}

fn has_markers(extracted: &Extracted<'_>) -> bool {
    let blocks = extracted.program.functions.iter().flat_map(|flow| &flow.blocks);
    blocks.flat_map(|block| &block.steps).any(|step| matches!(step.action, Action::Marker(_)))
}

/// Unrolls what carries a marker now, or would. Returns whether there was such a loop.
fn unroll_once(
    extracted: &Extracted<'_>,
    epochs: EpochOptions,
    manner: Manner<'_>,
    report: &mut Report,
) -> bool {
    let hints: Vec<Hints> = extracted.details.iter().map(|details| details.hints.clone()).collect();
    let decisions = place(&extracted.program, &hints, epochs, true);
    let covering = covering(&decisions);
    let mut done = false;
    for ((flow, details), number) in extracted.program.functions.iter().zip(&extracted.details).zip(0..) {
        let chosen = choose(FunctionId(number), &decisions, &covering, extracted, report);
        if chosen.is_empty() {
            continue;
        }
        for (header, what) in details.facts.function.unroll_loops(&chosen, manner) {
            let kind = match what {
                // Said in the round before.
                Unrolled::Left(Obstacle::Done) if report.round > 1 => continue,
                Unrolled::Left(Obstacle::Done) => Remark::Analysis,
                Unrolled::Left(_) => Remark::Missed,
                Unrolled::Fully { .. } | Unrolled::Partly { .. } => Remark::Done,
            };
            done |= kind == Remark::Done;
            report.say(details, place_of(flow, details, header), kind, &what.describe());
        }
    }
    done
}

/// The markers that other loops rely on.
fn covering(decisions: &Decisions) -> BTreeSet<Mark> {
    let covers = decisions.loops.iter().filter_map(|decided| match &decided.decision {
        Decision::Covered(cover) => Some(&cover.markers),
        _ => None,
    });
    covers.flatten().copied().collect()
}

/// The loops of a function that carry a marker, or would; the others are reported.
fn choose(
    function: FunctionId,
    decisions: &Decisions,
    covering: &BTreeSet<Mark>,
    extracted: &Extracted<'_>,
    report: &mut Report,
) -> Vec<LoopToUnroll> {
    let (flow, details) =
        (&extracted.program.functions[function.0 as usize], &extracted.details[function.0 as usize]);
    let mut chosen = Vec::new();
    // In the program's order.
    let first = decisions.loops.partition_point(|decided| decided.function < function);
    for decided in decisions.loops[first..].iter().take_while(|decided| decided.function == function) {
        let header = match &decided.cycle {
            Cycle::Loop(id) => Some(flow.loops[id.0 as usize].header.0),
            Cycle::Irreducible(_) => None,
        };
        if let (Decision::Marker(mark), Some(header)) = (&decided.decision, header) {
            let keeps_header = mark.is_some_and(|mark| covering.contains(&mark));
            chosen.push(LoopToUnroll { header, keeps_header });
        } else if let Some((kind, why)) = why_left(&decided.decision, extracted) {
            let place = header.and_then(|header| place_of(flow, details, header));
            report.say(details, place, kind, &why);
        }
    }
    chosen
}

fn place_of<'m>(flow: &Flow<'m>, details: &Details<'m>, header: u32) -> Option<Place<'m>> {
    let number = flow.loops.iter().position(|natural| natural.header.0 == header)?;
    details.places[number]
}

/// Why a loop is left alone; `None` if it is to be unrolled.
fn why_left(decision: &Decision, extracted: &Extracted<'_>) -> Option<(Remark, String)> {
    let name = |id: &FunctionId| crate::demangle(&extracted.program.functions[id.0 as usize].name);
    let because = match decision {
        Decision::Marker(_) => return None,
        Decision::Limit(limit, _) => {
            return Some((Remark::Missed, format!("not unrolled: {}", limit.describe())))
        }
        Decision::Spin(_) => "it only spins".to_owned(),
        Decision::Trivial(Trivial::Waits) => "trivial, it only waits on condition variables".to_owned(),
        Decision::Trivial(Trivial::Creates) => "trivial, it only creates threads".to_owned(),
        Decision::Trivial(Trivial::Joins) => "trivial, it only joins threads".to_owned(),
        Decision::Barrier(_) => "it passes a barrier".to_owned(),
        Decision::Covered(cover) => match cover.through.first() {
            Some(callee) => format!("covered by a marker in {}", name(callee)),
            None => "covered by a marker inside of it".to_owned(),
        },
    };
    Some((Remark::Analysis, format!("left alone: {because}")))
}

/// What was said of each loop.
#[derive(Default)]
struct Report {
    /// From 1.
    round: usize,
    lines: Vec<String>,
    unrolled: usize,
}

impl Report {
    fn say<'m>(&mut self, details: &Details<'m>, place: Option<Place<'m>>, kind: Remark, message: &str) {
        let location = place.map_or_else(|| details.facts.function.location(), Place::location);
        let place_text = if location.file.is_empty() {
            String::new()
        } else {
            format!("{}:{}:{}: ", location.file, location.line, location.column)
        };
        let line = format!("{place_text}{}: loop {message}", crate::demangle(&details.facts.name));
        // Further rounds look at the same loops again, and at copies of them.
        if self.round > 1 && kind != Remark::Done && self.lines.contains(&line) {
            return;
        }
        details.facts.function.remark(place, kind, message);
        self.unrolled += usize::from(kind == Remark::Done);
        self.lines.push(line);
    }

    fn print(&self, unit: &str) {
        for line in &self.lines {
            eprintln!("covsched: {line}");
        }
        let left = self.lines.len() - self.unrolled;
        eprintln!("covsched: {unit}: sync-unroll: {} unrolled, {left} left alone", self.unrolled);
    }
}
