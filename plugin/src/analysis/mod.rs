//! Analyses of a module.

pub mod calls;
pub mod points_to;
pub mod threads;
