//! The language of filters (Wu, Table 5.2 and 5.2.3); `docs/filters.md` is its manual.
//!
//! - [`diagnostic`]: what is wrong with a filter, and where

pub mod diagnostic;

pub use diagnostic::{Diagnostic, Severity, Span};
