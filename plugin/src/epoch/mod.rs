//! Epoch markers and selective unrolling (Bergan 3.2.2, 3.3.1, 3.5).

pub mod count;
pub mod effects;
pub mod extract;
pub mod graph;
pub mod place;
pub mod program;
pub mod recursion;
#[cfg(test)]
pub(crate) mod testing;
mod unroll;
pub mod verify;
pub mod ways;

use crate::ir::Module;
use crate::parameters::{EpochOptions, PrintOptions, UnrollOptions};

/// `epoch-markers`. Returns whether the module changed.
pub fn place_markers(module: Module<'_>, options: EpochOptions) -> bool {
    options.count_instructions && count::count_instructions(module)
}

/// `sync-unroll`. Returns whether the module changed.
pub fn unroll(module: Module<'_>, options: UnrollOptions) -> bool {
    unroll::unroll(module, options)
}

/// `print<covsched-epochs>`.
pub fn print_epochs(_module: Module<'_>, _options: PrintOptions) {}

/// `verify<covsched-epochs>`: reports what is not bounded as an error.
pub fn verify_epochs(module: Module<'_>, options: EpochOptions) {
    verify::report(module, options);
}

/// What is not bounded in a module; see [`verify`].
pub fn unbounded(module: Module<'_>, options: EpochOptions) -> Vec<verify::Unbounded> {
    verify::check(&program::Program::of(module, options))
}
