//! Epoch markers and selective unrolling (Bergan 3.2.2, 3.3.1, 3.5).

pub mod count;
pub mod extract;
pub mod graph;
pub mod program;
mod unroll;

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

/// `verify<covsched-epochs>`: reports what is not bounded as errors.
pub fn verify_epochs(_module: Module<'_>, _options: EpochOptions) {}
