//! Loom: execution filters in a live process (Wu, Ch. 5).
//!
//! - [`abi`]: what instrumented code and the runtime share: symbols, values, the unit descriptor
//! - [`table`] (std): what the pass tells the controller of each translation unit: control flow, slots, lines, variables
//! - [`plan`]: a filter, compiled: what the engine in the process installs
//! - [`wire`]: what controller and engine say to each other

pub mod abi;
pub mod plan;
#[cfg(feature = "std")]
pub mod table;
pub mod wire;
