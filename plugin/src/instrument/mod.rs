//! `covsched-instrument` and `covsched-lower`: the plan.
//!
//! Collect (`analysis`): what each function calls, what those calls mean, which functions may be threads'.
//! Choose ([`plan`]): which calls, entries and exits become sites, with which ids; nothing is changed, and
//! `print<covsched-sites>` stops here. Change ([`apply`]): in a function that synchronizes,
//! ```text
//! call i32 @pthread_mutex_lock(ptr %m)     ->  call i32 @covsched_pthread_mutex_lock(ptr %m, i64 SITE) nomerge
//! call void @helper()                      ->  %d = call i32 @covsched_derived_enter(i64 SITE)
//!                                              call void @helper()
//!                                              call void @covsched_derived_leave(i32 %d)
//! start of a thread function               ->  %t = call i32 @covsched_thread_enter(i64 SITE)
//! ret ptr %r                               ->  call void @covsched_thread_exit(i32 %t, i64 SITE)
//!                                              ret ptr %r
//! ```
//! Then the unit's site table, its registration and its bitcode are added ([`unit`]).
//!
//! This runs at the very start of the pipeline, since later passes merge, inline and drop calls. Hook calls are
//! `nomerge` and neither `noduplicate` nor `convergent`: a copied call is the same site. At the end of the
//! pipeline [`lower`] puts the markers that only a recording needs into versions of their functions, and an inline test of
//! one byte around the others, so that a program that is not recorded pays a load and a branch a function.

pub mod apply;
pub mod lower;
pub mod plan;
pub mod print;
pub mod unit;

use crate::ir::{Module, Severity};
use crate::parameters::InstrumentOptions;

/// Instruments what is not yet instrumented. Returns whether the module changed.
pub fn instrument(module: Module<'_>, options: InstrumentOptions) -> bool {
    if !module.is_supported_target() {
        module
            .report(Severity::Error, "covsched: works on ELF targets only; compile this without the plugin");
        return false;
    }
    let plan = plan::Plan::of(module);
    let first_time = !module.has_flag(unit::FLAG);
    if plan.is_empty() && !first_time {
        return false;
    }
    plan.limits.warn(module);
    let mut limits = plan.limits.clone();
    let summary = options.verbose.then(|| plan.count_sites());
    match apply::apply(module, &plan) {
        Ok(()) => unit::finish(module, &plan, first_time, options, &mut limits),
        Err(error) => module.report(Severity::Error, &format!("covsched: {error}")),
    }
    if let Some(counts) = summary {
        eprintln!("covsched: {}: {counts}; limits: {}", module.source_name(), limits.summary());
    }
    true
}
