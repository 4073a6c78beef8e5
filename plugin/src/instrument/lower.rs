//! `covsched-lower`: puts a test of one byte around each call of a marker.
//! ```text
//! %d = call i32 @covsched_derived_enter(i64 SITE)  ->      %b = load i8, ptr @covsched_active
//!                                                          br i1 (%b != 0), %then, %cont   ; unlikely
//!                                                      then: %c = call i32 @covsched_derived_enter(i64 SITE)
//!                                                      cont: %d = phi i32 [ 0, ... ], [ %c, %then ]
//! ```
//! The byte changes only while the linked object's constructor registers it, when no frame of the object's code is
//! active, so an enter and its leave see the same. Where this pass does not run, the calls work as they are.
//! Calls of hooks that replace a call are not touched: something must be called there anyway.

use crate::instrument::apply::IN_CODE;
use crate::ir::{Form, Function, Module};
use std::collections::HashSet;

/// Guards every unguarded marker. Returns whether the module changed.
pub fn lower(module: Module<'_>) -> bool {
    let functions = module.functions();
    let markers: HashSet<Function<'_>> = functions
        .iter()
        .filter(|facts| IN_CODE.contains(&facts.name.as_str()) && facts.is_declared())
        .map(|facts| facts.function)
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
            .filter(|call| call.form == Form::Call && call.callee.is_some_and(|f| markers.contains(&f)))
            .filter(|call| !call.is_guarded)
            .collect();
        if calls.is_empty() {
            continue;
        }
        facts.function.gather_allocas();
        let active = module.active_byte();
        // From the last to the first, each split moves only what stands between two calls: linear.
        for call in calls.iter().rev() {
            call.inst.guard(active);
        }
        changed = true;
    }
    changed
}
