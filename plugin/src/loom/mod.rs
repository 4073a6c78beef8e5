//! `loom`: makes a program ready for execution filters (Wu, 5.3 and 5.4).
//!
//! Collect ([`collect`]): what each function is, calls, and which cycles it has. Choose ([`choose`]): which functions get
//! a slow path, where threads may pause, at which calls they count as released; everything gets its number. Change
//! (`plugin/cpp/loom_*.cpp`, one function at a time): checks, releases, the slow copy with its slots. core's
//! `loom::abi` shows the code that results.
//!
//! Where this deviates from Wu: the pass runs after optimization, blocks are cloned as a whole function (not one by one),
//! switch and wait flags are one byte a function, and slots stand where lines change, not before each instruction.
//!
//! Numbers are stable: functions in the module's order; in each its entry, back edges, landing pads and calls in the order
//! of instructions; slots after all other locations.

pub mod choose;
pub mod collect;

use crate::ir::loom::{Unit, UnitFacts, Without};
use crate::ir::{Module, Severity};
use crate::parameters::LoomOptions;
use crate::tell::describe::{self, Done};
use choose::Plan;
use covsched_core::loom::abi::name_hash;
use covsched_core::loom::table::Precision;
use covsched_core::site::BITCODE_SECTION;

/// Instruments what is not yet instrumented. Returns whether the module changed.
pub fn instrument(module: Module<'_>, options: LoomOptions) -> bool {
    if !module.is_supported_target() {
        module.report(
            Severity::Error,
            "covsched: loom works on ELF targets only; compile this without the plugin",
        );
        return false;
    }
    let program = collect::Program::of(module, if options.all_loops { 0 } else { choose::FEW });
    let plan = Plan::of(&program, options);
    if plan.functions.is_empty() {
        return false;
    }
    let summary = options.verbose.then(|| plan.summary());
    let without = Without {
        cloning: options.no_cloning,
        filter_byte: options.no_filter_byte,
        inlining: options.no_inline,
        direct: options.no_direct,
    };
    let Some(mut unit) = Unit::new(module, without) else {
        module.report(
            Severity::Error,
            "covsched: the program declares a name of covsched's runtime (covsched_loom_*) with another type",
        );
        return false;
    };
    // Whether the code generator makes jumps of them or not: their functions may have no frame meanwhile.
    let calls = program.functions.iter().flat_map(|body| &body.calls);
    calls.filter(|call| call.returns_next || call.is_bound).for_each(|call| call.inst.mark_last());
    let mut slots = 0;
    for planned in &plan.functions {
        slots = unit.change(&planned.plan).end;
    }
    let hash = describe(module, &plan, options);
    unit.finish(&UnitFacts {
        hash,
        functions: plan.functions.len() as u32,
        locations: plan.locations,
        cells: plan.cells.clone(),
        defined: plan.defined.iter().map(|name| name_hash(name)).collect(),
    });
    if let Some(summary) = summary {
        eprintln!("covsched: {}: {summary}, {slots} slots", module.source_name());
    }
    true
}

/// Adds the unit's table; gives its hash. Everything that it describes is in place.
fn describe(module: Module<'_>, plan: &Plan<'_>, options: LoomOptions) -> u64 {
    let done: Vec<Done<'_>> = plan
        .functions
        .iter()
        .map(|planned| Done {
            function: planned.plan.function,
            name: planned.name.clone(),
            limit: planned.limit.to_owned(),
            has_slots: planned.plan.is_cloned,
        })
        .collect();
    let cells: Vec<u32> = plan.cells.iter().map(|&(_, location)| location).collect();
    let precision = if options.precise { Precision::Precise } else { Precision::Late };
    let table = describe::describe(module, &done, &cells, precision, !options.no_variables);
    let (part, hash) = table.encode();
    module.add_section_data("covsched.loom.table", BITCODE_SECTION, &part, false);
    hash
}
