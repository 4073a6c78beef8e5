//! Loom: execution filters in a live process (Wu, Ch. 5).
//!
//! - [`abi`]: what instrumented code and the runtime share: symbols, values, the unit descriptor
//! - [`table`] (std): what the pass tells the controller of each translation unit: control flow, slots, lines, variables
//! - [`moved`] (std): whether optimized code still does at a line what the line says; [`loops`]: how deep points are in loops
//! - [`plan`]: a filter, compiled: what the engine in the process installs
//! - [`wire`]: what controller and engine say to each other

pub mod abi;
#[cfg(feature = "std")]
pub mod loops;
#[cfg(feature = "std")]
pub mod moved;
pub mod plan;
#[cfg(feature = "std")]
pub mod table;
pub mod wire;
