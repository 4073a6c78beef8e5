//! Analyses of a module.

pub mod calls;
pub mod threads;
