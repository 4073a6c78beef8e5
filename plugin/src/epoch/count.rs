//! `epoch-markers<count-instructions>`: a program that counts its own instructions, for bypass policies that ask how
//! long an epoch was (Bergan 3.5; his Table 3.5 counts LLVM instructions in the same way).
//!
//! Each block adds the number of its IR instructions to a variable of the thread's own, which the runtime reads at
//! markers. Blocks that always run together add once, in the first: after a call that does not come back, the count may
//! be a few instructions ahead. What counts: everything but phis, allocas, lifetime and debug records, as the pass
//! finds it. At the start of a pipeline that is code before optimization, about two to three times what the machine
//! executes; the policies compare counts with each other and with a number that the user chooses, so a steady factor
//! does no harm. Code of libraries counts nothing. Naked functions and those with funclets are left out.
//!
//! So are the resolvers of ifuncs and all that they call by name in their own unit: they run while the program is being
//! relocated, in a static one before the thread has its variables. Limit: what a resolver comes to through a pointer or
//! in another unit does count, and crashes such a program.

use crate::ir::{Function, FunctionFacts, Module, Severity};
use std::collections::HashSet;

/// The runtime's variable.
pub const COUNTER: &str = "covsched_instructions";

/// Lets every function that does not yet count do so. Returns whether the module changed.
pub fn count_instructions(module: Module<'_>) -> bool {
    let Some(counter) = module.thread_counter(COUNTER) else {
        let message = format!(
            "covsched: count-instructions: the program has something else named {COUNTER}: rename it there"
        );
        module.report(Severity::Error, &message);
        return false;
    };
    let mut changed = false;
    let functions = module.functions();
    let early = reached_by_resolvers(&functions);
    for facts in &functions {
        // The constructor and the wrappers are covsched's, not the program's.
        let is_own = facts.name.starts_with("covsched.");
        if facts.has_body() && !is_own && !early.contains(&facts.function) {
            changed |= facts.function.count_instructions(counter);
        }
    }
    changed
}

/// The resolvers of ifuncs and what they call by name.
fn reached_by_resolvers<'m>(functions: &[FunctionFacts<'m>]) -> HashSet<Function<'m>> {
    let with_body: HashSet<Function<'m>> =
        functions.iter().filter(|facts| facts.has_body()).map(|facts| facts.function).collect();
    let resolvers = functions.iter().filter(|facts| facts.is_resolver());
    let mut work: Vec<Function<'m>> = resolvers.map(|facts| facts.function).collect();
    let mut reached = HashSet::new();
    while let Some(function) = work.pop() {
        if with_body.contains(&function) && reached.insert(function) {
            work.extend(function.calls().iter().filter_map(|call| call.callee));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::complaints;

    #[test]
    fn counting_twice_counts_once() {
        let ir = "define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n";
        let complaints = complaints(ir, |module| {
            assert!(count_instructions(module));
            assert!(!count_instructions(module));
        });
        assert!(complaints.is_empty(), "{complaints:?}");
    }

    #[test]
    fn a_name_that_is_taken_is_an_error() {
        let complaints = complaints("@covsched_instructions = global i32 0\n", |module| {
            assert!(!count_instructions(module));
        });
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].contains("rename it"), "{complaints:?}");
    }
}
