//! Epoch markers and selective unrolling (Bergan 3.2.2, 3.3.1, 3.5).

pub mod extract;
pub mod graph;
pub mod program;
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

/// `verify<covsched-epochs>`: reports what is not bounded as errors.
pub fn verify_epochs(_module: Module<'_>, _options: EpochOptions) {}
