//! The language of filters (Wu, Table 5.2 and 5.2.3); `docs/filters.md` is its manual.
//!
//! - [`tree`]: what a filter says, and its text again
//! - [`parse`](mod@parse): the reader
//! - [`diagnostic`]: what is wrong with a filter, and where

pub mod diagnostic;
pub mod parse;
#[cfg(test)]
mod tests;
pub mod tree;

pub use diagnostic::{Diagnostic, Severity, Span};
pub use parse::parse;
pub use tree::Filter;
