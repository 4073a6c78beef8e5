//! Epoch markers and selective unrolling (Bergan 3.2.2, 3.3.1, 3.5).

pub mod effects;
pub mod extract;
pub mod graph;
pub mod place;
pub mod program;
pub mod recursion;
pub mod ways;
#[cfg(test)]
pub(crate) mod testing;
pub mod verify;

use crate::ir::Module;
use crate::parameters::{EpochOptions, PrintOptions, UnrollOptions};

/// `epoch-markers`. Returns whether the module changed.
pub fn place_markers(_module: Module<'_>, _options: EpochOptions) -> bool {
    false
}

/// `sync-unroll`. Returns whether the module changed.
pub fn unroll(_module: Module<'_>, _options: UnrollOptions) -> bool {
    false
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
