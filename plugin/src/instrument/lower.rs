//! `covsched-lower`: puts a test of one byte around each call of a marker.
//! ```text
//! %d = call i32 @covsched_derived_enter(i64 SITE)  ->      %b = load i8, ptr @covsched_active
//!                                                          br i1 (%b == 1), %then, %cont   ; unlikely
//!                                                      then: %c = call i32 @covsched_derived_enter(i64 SITE)
//!                                                      cont: %d = phi i32 [ 0, ... ], [ %c, %then ]
//! ```
//! The markers of main and of threads test for `!= 0` (core's `Registration` says why); those of epochs are like the ones
//! of derived calls. The byte changes only while
//! the linked object's constructor registers it, when no frame of the object's code is active, so an enter
//! and its leave see the same. Where this pass does not run, the calls work as they are.
//! Calls of hooks that replace a call are not touched: something must be called there anyway.

use crate::instrument::apply::{DERIVED, EPOCH, IN_CODE};
use crate::ir::{Form, Function, Module};
use covsched_core::site::ALL_MARKERS;
use std::collections::HashMap;
use std::num::NonZeroU8;

/// Guards every unguarded marker. Returns whether the module changed.
pub fn lower(module: Module<'_>) -> bool {
    let functions = module.functions();
    let only = |name: &str| match name {
        _ if IN_CODE.contains(&name) => Some(None),
        _ if DERIVED.contains(&name) || EPOCH.contains(&name) => Some(NonZeroU8::new(ALL_MARKERS)),
        _ => None,
    };
    let markers: HashMap<Function<'_>, Option<NonZeroU8>> = functions
        .iter()
        .filter(|facts| facts.is_declared())
        .filter_map(|facts| Some((facts.function, only(&facts.name)?)))
        .collect();
    if markers.is_empty() {
        return false;
    }
    let mut changed = false;
    for facts in functions.iter().filter(|facts| facts.has_body()) {
        let calls: Vec<_> = facts
            .function
            .calls()
            .into_iter()
            .filter(|call| call.form == Form::Call && !call.is_guarded)
            .filter_map(|call| Some((call.inst, *markers.get(&call.callee?)?)))
            .collect();
        if calls.is_empty() {
            continue;
        }
        facts.function.gather_allocas();
        let active = module.active_byte();
        // From the last to the first, each split moves only what stands between two calls: linear.
        for &(call, only) in calls.iter().rev() {
            call.guard(active, only);
        }
        changed = true;
    }
    changed
}
