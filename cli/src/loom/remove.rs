//! `covsched loom remove`: a filter is taken out of a process.

use super::engine::Engine;
use super::outcome::{report, Change};
use super::Talk;
use crate::failure::Failure;
use std::process::ExitCode;

/// What `remove` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// The process
    #[arg(value_name = "PID")]
    pid: u32,
    /// The filter, as `ls` numbers it
    #[arg(value_name = "ID")]
    id: u32,
    #[command(flatten)]
    talk: Talk,
}

/// Takes it out.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut engine = Engine::of(arguments.pid, arguments.talk.timeout)?;
    let answer = engine.client.remove(arguments.id).map_err(|error| engine.failure(&error))?;
    report(Change::Remove, &engine, &answer, &[], || engine.images().ok(), arguments.talk.common.format)
}
