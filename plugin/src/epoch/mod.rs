//! Epoch markers and selective unrolling (Bergan 3.2.2, 3.3.1, 3.5).
//!
//! Collect ([`extract`]: a module's [`program`]), choose ([`place`], with [`effects`], [`ways`], [`knot`], [`recursion`]), change
//! ([`apply`], [`count`], [`unroll`]), tell ([`report`]); and, knowing nothing of all that, check ([`verify`]).

pub mod apply;
pub mod count;
pub mod effects;
pub mod extract;
pub mod graph;
pub mod knot;
pub mod place;
pub mod program;
pub mod recursion;
pub mod report;
#[cfg(test)]
pub(crate) mod testing;
pub mod unroll;
pub mod verify;
pub mod ways;

use crate::ir::{Module, Severity};
use crate::parameters::{EpochOptions, PrintOptions, UnrollOptions};
use crate::report::limits::{Limit, Limits};
use extract::Extracted;
use place::{place, Decision, Decisions, Hints};
use program::Action;

/// The module flag of a module that `epoch-markers` has seen: one that needs no marker has none to tell.
pub const FLAG: &str = "covsched-epochs";

/// `epoch-markers`. Returns whether the module changed.
pub fn place_markers(module: Module<'_>, options: EpochOptions) -> bool {
    let extracted = Extracted::of(module, options);
    let decisions = decide(&extracted, options, true);
    let mut limits = limits_of(&extracted, &decisions);
    let blocking = apply::blocking_calls(&extracted, options, &mut limits);
    let taken = apply::taken_ids(module, &extracted);
    let sites = apply::number(&extracted, &decisions, &taken, &module.source_name());
    // Before the module changes.
    let report = options.verbose.then(|| {
        let source = report::Source {
            extracted: &extracted,
            decisions: &decisions,
            sites: &sites,
            limits: &limits,
            options,
            placed: false,
        };
        report::Report::of(&source)
    });
    let changed = match apply::apply(module, &extracted, &decisions, &sites, &blocking) {
        Ok(changed) => changed,
        Err(error) => {
            module.report(Severity::Error, &format!("covsched: {error}"));
            true
        }
    };
    if let Some(report) = report {
        let (unit, counts) = (module.source_name(), report.summary.line());
        eprintln!("covsched: {unit}: {counts}; limits: {}", limits.summary());
    }
    let counts = options.count_instructions && count::count_instructions(module);
    let is_first = !module.has_flag(FLAG);
    module.set_flag(FLAG);
    changed || counts || is_first
}

/// `sync-unroll`. Returns whether the module changed.
pub fn unroll(module: Module<'_>, options: UnrollOptions) -> bool {
    unroll::unroll(module, options)
}

/// `print<covsched-epochs>`, on standard error like LLVM's own printers.
pub fn print_epochs(module: Module<'_>, options: PrintOptions) {
    eprint!("{}", describe(module, options));
}

/// What `covsched epochs` prints: see [`examine`].
pub fn describe(module: Module<'_>, options: PrintOptions) -> String {
    let report = examine(module, options.epochs);
    if options.json {
        report.json()
    } else {
        report.text()
    }
}

/// The markers that stand in the module, or, if none were placed, those it would get.
pub fn examine(module: Module<'_>, options: EpochOptions) -> report::Report {
    let extracted = Extracted::of(module, options);
    let mut steps =
        extracted.program.functions.iter().flat_map(|flow| &flow.blocks).flat_map(|block| &block.steps);
    let placed = module.has_flag(FLAG) || steps.any(|step| matches!(step.action, Action::Marker(_)));
    let decisions = decide(&extracted, options, !placed);
    let mut limits = limits_of(&extracted, &decisions);
    apply::blocking_calls(&extracted, options, &mut limits);
    let taken = apply::taken_ids(module, &extracted);
    let source = report::Source {
        extracted: &extracted,
        decisions: &decisions,
        sites: &apply::number(&extracted, &decisions, &taken, &module.source_name()),
        limits: &limits,
        options,
        placed,
    };
    report::Report::of(&source)
}

/// `verify<covsched-epochs>`: reports what is not bounded as an error.
pub fn verify_epochs(module: Module<'_>, options: EpochOptions) {
    verify::report(module, options);
}

/// What is not bounded in a module; see [`verify`].
pub fn unbounded(module: Module<'_>, options: EpochOptions) -> Vec<verify::Unbounded> {
    verify::check(&program::Program::of(module, options))
}

fn decide(extracted: &Extracted<'_>, options: EpochOptions, proposes: bool) -> Decisions {
    let hints: Vec<Hints> = extracted.details.iter().map(|details| details.hints.clone()).collect();
    place(&extracted.program, &hints, options, proposes)
}

/// What deciding could not do.
fn limits_of<'m>(extracted: &Extracted<'m>, decisions: &Decisions) -> Limits<'m> {
    let mut limits = Limits::default();
    let name = |function: program::FunctionId| &extracted.details[function.0 as usize].facts.name;
    for line in &decisions.loops {
        if let Decision::Limit(limit, _) = line.decision {
            let header = apply::header_of(extracted, line.function, &line.cycle);
            let location = apply::location_of(extracted, line.function, (header, 0));
            limits.note(limit, location, name(line.function));
        }
    }
    for line in &decisions.recursions {
        if let (Some(limit), Some(&function)) = (line.limit, line.functions.first()) {
            let location = extracted.details[function.0 as usize].facts.function.location();
            limits.note(limit, location, name(function));
        }
    }
    for &function in &decisions.jumps {
        let location = extracted.details[function.0 as usize].facts.function.location();
        limits.note(Limit::EpochLongjmp, location, name(function));
    }
    limits
}
