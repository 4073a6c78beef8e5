//! `epoch-markers<count-instructions>`: a program that counts its own instructions, for bypass policies that ask how
//! long an epoch was (Bergan 3.5; his Table 3.5 counts LLVM instructions in the same way).
//!
//! Each block adds the number of its IR instructions to a variable of the thread's own, which the runtime reads at
//! markers. Blocks that always run together add once, in the first: after a call that does not come back, the count may
//! be a few instructions ahead. What counts: everything but phis, allocas, lifetime and debug records, as the pass
//! finds it. At the start of a pipeline that is code before optimization, about two to three times what the machine
//! executes; the policies compare counts with each other and with a number that the user chooses, so a steady factor
//! does no harm. Code of libraries counts nothing. Naked functions and those with funclets are left out.

use crate::ir::{Module, Severity};

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
    for facts in module.functions() {
        // The constructor and the wrappers are covsched's, not the program's.
        if facts.has_body() && !facts.name.starts_with("covsched.") {
            changed |= facts.function.count_instructions(counter);
        }
    }
    changed
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
