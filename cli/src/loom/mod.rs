//! `covsched loom`: execution filters in live processes (Wu, Ch. 5). Also called `loomctl`.
//!
//! - [`add`] (and replace), [`remove`], [`ls`], [`ps`], [`check`]: the commands
//! - [`process`]: a process from outside; [`engine`]: the connection to the engine in it; [`client`]: its protocol
//! - [`images`]: what the pass left in a program's files; [`dwarf`]: types and variables
//! - [`filter`]: a filter's file, compiled for a program
//! - [`places`]: locations in words; [`outcome`]: what came of a change, in words; [`report`]: why a filter was expelled
//!
//! Exit codes: 0 done; 1 the engine could not make the change, and the program is as it was; 2 usage, a bad filter,
//! a process without an engine or of another user; 70 a bug in covsched.

mod add;
mod check;
mod client;
mod code;
mod dwarf;
mod engine;
mod filter;
mod images;
mod ls;
mod outcome;
mod places;
mod process;
mod ps;
mod remove;
mod report;

use crate::failure::Failure;
use serde_json::Value;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// What `loom` takes.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Install a filter into a running process
    Add(add::AddArguments),
    /// List the filters of a process, or of all of yours
    Ls(ls::Arguments),
    /// Take a filter out of a process
    Remove(remove::Arguments),
    /// Put a filter into the place of another, in one step
    Replace(add::ReplaceArguments),
    /// Compile a filter without a process: what it does where, and what it costs
    Check(check::Arguments),
    /// Show the threads of a process, or of all of yours, and where they are
    Ps(ps::Arguments),
}

/// What all of them take.
#[derive(clap::Args)]
struct Common {
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// What those take that talk to a process.
#[derive(clap::Args)]
struct Talk {
    /// How long to wait for the process's answer
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    timeout: Duration,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Does what was asked for.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        Command::Add(arguments) => add::add(arguments),
        Command::Replace(arguments) => add::replace(arguments),
        Command::Remove(arguments) => remove::run(arguments),
        Command::Ls(arguments) => ls::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Ps(arguments) => ps::run(arguments),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(0.001..=86_400.0).contains(&seconds) {
        return Err("from 0.001 to 86400 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Prints a result as one JSON value.
fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Prints a result.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)
}
