//! The ways in which a command fails, kept apart as DESIGN section 8 says, and their exit codes.

use crate::names;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Exit code of a finding about the user's program or schedule.
pub const FOUND: u8 = 1;
/// Exit code of bad usage or input.
pub const BAD_INPUT: u8 = 2;
/// Exit code of a bug in covsched.
pub const BUG: u8 = 70;

/// Why a command did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A finding: what was looked at is not as it should be.
    #[error("{0}")]
    Found(String),
    /// The user gave something that cannot be worked with; the text says what to do.
    #[error("{0}")]
    BadInput(String),
    /// covsched is at fault.
    #[error("bug in covsched: {0}")]
    Bug(String),
    /// A signal asked covsched to end before it was done.
    #[error("stopped by {}; no schedule is written", names::signal(*.0))]
    Stopped(i32),
    /// Whoever reads the output has seen enough.
    #[error("broken pipe")]
    BrokenPipe,
}

impl Failure {
    /// The exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Found(_) => ExitCode::from(FOUND),
            Failure::BadInput(_) => ExitCode::from(BAD_INPUT),
            Failure::Bug(_) => ExitCode::from(BUG),
            Failure::Stopped(signal) => ExitCode::from(128 + *signal as u8),
            Failure::BrokenPipe => ExitCode::SUCCESS,
        }
    }

    /// Bad input, in words.
    pub fn bad(what: impl Into<String>) -> Failure {
        Failure::BadInput(what.into())
    }

    /// A file that could not be read or written.
    pub fn file(path: &Path, error: &io::Error) -> Failure {
        Failure::BadInput(format!("{}: {error}", path.display()))
    }

    /// An error while writing to standard output.
    pub fn output(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::BadInput(format!("standard output: {error}")),
        }
    }
}
