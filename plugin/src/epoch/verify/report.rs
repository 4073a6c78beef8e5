//! What the verifier found, as an LLVM error.

use super::{check, step_at, Unbounded};
use crate::epoch::program::Program;
use crate::ir::{Location, Module, Severity};
use crate::parameters::EpochOptions;

/// So many findings are spelled out.
const MOST: usize = 20;

/// `verify<covsched-epochs>`. One error with all findings, at the first one's place: opt ends at the first error.
pub fn report(module: Module<'_>, options: EpochOptions) {
    let program = Program::of(module, options);
    let found = check(&program);
    let Some(first) = found.first() else { return };
    let mut message = format!("covsched: {}", in_words(first));
    for other in found.iter().skip(1).take(MOST - 1) {
        message += &format!("\n{}", line_of(other));
    }
    if found.len() > MOST {
        message += &format!("\nand {} more", found.len() - MOST);
    }
    message += "\nrun epoch-markers on the module as it is now; where that names a limit (a cycle that is no loop, for \
                one), write the code as a loop or call covsched_epoch_marker in it";
    match step_at(&program, first.steps[0]).inst {
        Some(inst) => module.report_at(inst, Severity::Error, &message),
        None => module.report(Severity::Error, &message),
    }
}

fn in_words(unbounded: &Unbounded) -> String {
    format!("in {}: {}", crate::demangle(&unbounded.function), unbounded.why)
}

fn line_of(unbounded: &Unbounded) -> String {
    let Location { file, line, column } = &unbounded.location;
    if file.is_empty() {
        in_words(unbounded)
    } else {
        format!("{file}:{line}:{column}: {}", in_words(unbounded))
    }
}
