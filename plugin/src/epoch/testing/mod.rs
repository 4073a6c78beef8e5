//! Random programs, and what a thread can do in them, to test placing and verifying with.
//!
//! - [`draft`]: the generator; a draft becomes a [`super::program::Program`] or ([`text`]) LLVM IR
//! - [`oracle`]: runs a program's paths with an explicit stack
//! - [`differential`]: the verifier against the oracle
//! - [`placed`]: placing, checked by the verifier

use super::program::{Action, Program};
use std::io::Write;

mod differential;
pub(crate) mod draft;
mod features;
pub(crate) mod oracle;
mod placed;
pub(crate) mod text;

/// SplitMix64: all that a test does follows from its seed.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Less than `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Prints, past the harness, which keeps to itself what a test prints that passes.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A number from the environment, for longer runs.
pub(crate) fn count_from_environment(name: &str, default: usize) -> usize {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}: a number is expected")),
        Err(_) => default,
    }
}

/// A program in a few lines, for failures.
pub(crate) fn show(program: &Program<'_>) -> String {
    let mut text = String::new();
    for flow in &program.functions {
        text.push_str(&format!("{}:\n", flow.name));
        for (b, block) in flow.blocks.iter().enumerate() {
            text.push_str(&format!("  {b}:"));
            for step in &block.steps {
                let invoke = if step.is_invoke { "invoke " } else { "" };
                let action = match &step.action {
                    Action::Synchronizes(op) => op.name().to_owned(),
                    Action::Marker(_) => "MARKER".to_owned(),
                    Action::Calls { functions, unknown, certain } => {
                        let functions: Vec<u32> = functions.iter().map(|f| f.0).collect();
                        format!("call {functions:?} unknown={unknown} certain={certain}")
                    }
                };
                text.push_str(&format!(" {invoke}{action};"));
            }
            let next: Vec<u32> = block.next.iter().map(|b| b.0).collect();
            text.push_str(&format!(" -> {next:?} {:?}\n", block.leaves));
        }
    }
    text
}
