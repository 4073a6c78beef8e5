//! Control-flow specialization (Wu 4.2.1).

pub mod graph;
pub mod layers;
