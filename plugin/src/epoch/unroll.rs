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
//! A loop that lost its marker may have covered the loop around it, so that one is placed again and, since it now
//! carries a marker, unrolled: until nothing changes.
//!
//! Where it deviates from the paper: Bergan unrolls before he places; here both orders give the same markers.
//!
//! `#pragma nounroll` is heeded, except in a module in which no loop at all may be unrolled: clang marks each loop so at
//! -O1 and with -fno-unroll-loops, and the two look the same. A module with a single loop counts as the former.
//!
//! What is not unrolled has a reason: as an optimization remark (`-Rpass-missed=sync-unroll`; what was done is
//! `-Rpass=`, what a rule leaves alone `-Rpass-analysis=`), and as a line with `verbose`.

use super::extract::{Extracted, EPOCH_MARKER};
use super::program::Action;
use crate::ir::flow::Place;
use crate::ir::unroll::{Manner, Obstacle, Remark, Unrolled};
use crate::ir::{Function, Module};
use crate::parameters::{EpochOptions, UnrollOptions};

/// A loop, and what is to be done to it.
struct Choice<'m> {
    header: u32,
    place: Option<Place<'m>>,
    /// Why it is left alone; `None` if it is to be unrolled.
    left: Option<String>,
}

/// The loops of a function.
struct Chosen<'m> {
    function: Function<'m>,
    name: String,
    loops: Vec<Choice<'m>>,
}

/// Unrolls. Returns whether the module changed.
pub fn unroll(module: Module<'_>, options: UnrollOptions) -> bool {
    let mut report = Report::default();
    let mut changed = false;
    // clang at -O1 forbids it in every loop, which says nothing about any of them.
    let heed_disabled = !module.disables_all_unrolling();
    let manner = Manner { factor: options.factor, heed_disabled, marker: EPOCH_MARKER };
    loop {
        let mut again = false;
        report.round += 1;
        for chosen in choose(module, options) {
            again |= unroll_in(&chosen, manner, &mut report);
        }
        if !again {
            break;
        }
        changed = true;
    }
    if options.verbose {
        for line in &report.lines {
            eprintln!("covsched: {line}");
        }
        eprintln!(
            "covsched: {}: sync-unroll: {} unrolled, {} left alone",
            module.source_name(),
            report.unrolled,
            report.lines.len() - report.unrolled
        );
    }
    changed
}

fn choose<'m>(module: Module<'m>, options: UnrollOptions) -> Vec<Chosen<'m>> {
    let epochs = EpochOptions { whole_program: options.whole_program, ..EpochOptions::default() };
    let extracted = Extracted::of(module, epochs);
    let mut all = Vec::new();
    for (flow, details) in extracted.program.functions.iter().zip(&extracted.details) {
        let loops = flow.loops.iter().zip(&details.places).map(|(natural, &place)| {
            let syncs = natural.blocks.iter().any(|block| {
                flow.blocks[block.0 as usize].steps.iter().any(|s| !matches!(s.action, Action::Marker(_)))
            });
            let left = (!syncs).then(|| "nothing in it synchronizes".to_owned());
            Choice { header: natural.header.0, place, left }
        });
        all.push(Chosen {
            function: details.facts.function,
            name: details.facts.name.clone(),
            loops: loops.collect(),
        });
    }
    all
}

/// Returns whether a loop was unrolled.
fn unroll_in(chosen: &Chosen<'_>, manner: Manner<'_>, report: &mut Report) -> bool {
    for left in &chosen.loops {
        if let Some(why) = &left.left {
            report.say(chosen, left.place, Remark::Analysis, &format!("left alone: {why}"));
        }
    }
    let headers: Vec<u32> =
        chosen.loops.iter().filter(|choice| choice.left.is_none()).map(|choice| choice.header).collect();
    if headers.is_empty() {
        return false;
    }
    let mut done = false;
    for (header, what) in chosen.function.unroll_loops(&headers, manner) {
        let place =
            chosen.loops.iter().find(|choice| choice.header == header).and_then(|choice| choice.place);
        let kind = match what {
            // Said in the round before.
            Unrolled::Left(Obstacle::Done) if report.round > 1 => continue,
            Unrolled::Left(Obstacle::Done) => Remark::Analysis,
            Unrolled::Left(_) => Remark::Missed,
            Unrolled::Fully { .. } | Unrolled::Partly { .. } => Remark::Done,
        };
        done |= kind == Remark::Done;
        report.say(chosen, place, kind, &what.describe());
    }
    done
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
    fn say<'m>(&mut self, chosen: &Chosen<'m>, place: Option<Place<'m>>, kind: Remark, message: &str) {
        let location = place.map(Place::location).unwrap_or_default();
        let place_text = if location.file.is_empty() {
            String::new()
        } else {
            format!("{}:{}:{}: ", location.file, location.line, location.column)
        };
        let line = format!("{place_text}{}: loop {message}", crate::demangle(&chosen.name));
        // Further rounds look at the same loops again, and at copies of them.
        if self.round > 1 && kind != Remark::Done && self.lines.contains(&line) {
            return;
        }
        chosen.function.remark(place, kind, message);
        self.unrolled += usize::from(kind == Remark::Done);
        self.lines.push(line);
    }
}
