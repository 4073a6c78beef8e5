//! What is changed, what is left alone, and that programs do the same afterwards.

mod copy;
mod fold;
mod optimize;
mod programs;
mod replace;
mod unroll;

use super::*;
use crate::ir::testing::{definition, function, named, text_of};
use crate::testing::complaints;

/// Runs something on a module, which must leave a valid one and report nothing.
fn on(ir: &str, run: impl FnOnce(Module<'_>)) {
    let said = complaints(ir, run);
    assert!(said.is_empty(), "{said:?}");
}

/// A text without the spaces before its lines, and without empty ones.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// How often a word is in a text.
fn count(text: &str, word: &str) -> usize {
    text.matches(word).count()
}

/// The body of `f`, with its blocks' and instructions' names, as it is now.
#[track_caller]
fn assert_body(module: Module<'_>, expected: &str) {
    let found = definition(module, "f");
    let (_, body) = found.split_once('\n').unwrap_or_default();
    assert_eq!(tidy(body), tidy(expected), "{}", text_of(module));
}
