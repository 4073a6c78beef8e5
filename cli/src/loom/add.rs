//! `covsched loom add` and `replace`: a filter is compiled for the build that a process runs, and installed.

use super::client::{Answer, ClientError};
use super::engine::Engine;
use super::filter::{diagnostics_json, Filter};
use super::outcome::{report, Change};
use super::{print_json, Format, Talk};
use crate::failure::{Failure, BAD_INPUT};
use crate::say::say;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `add` takes.
#[derive(clap::Args)]
pub struct AddArguments {
    /// The process
    #[arg(value_name = "PID")]
    pid: u32,
    /// The filter's file; - is standard input
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    #[command(flatten)]
    talk: Talk,
}

/// What `replace` takes.
#[derive(clap::Args)]
pub struct ReplaceArguments {
    /// The process
    #[arg(value_name = "PID")]
    pid: u32,
    /// The filter that is to go, as `ls` numbers it
    #[arg(value_name = "ID")]
    id: u32,
    /// The file of the filter that comes; - is standard input
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    #[command(flatten)]
    talk: Talk,
}

/// Installs a filter.
pub fn add(arguments: &AddArguments) -> Result<ExitCode, Failure> {
    install(arguments.pid, &arguments.filter, &arguments.talk, Change::Add, |engine, plan| {
        engine.client.add(plan)
    })
}

/// Puts a filter into the place of another.
pub fn replace(arguments: &ReplaceArguments) -> Result<ExitCode, Failure> {
    install(arguments.pid, &arguments.filter, &arguments.talk, Change::Replace, |engine, plan| {
        engine.client.replace(arguments.id, plan)
    })
}

fn install(
    pid: u32,
    filter: &Path,
    talk: &Talk,
    change: Change,
    send: impl FnOnce(&mut Engine, &[u8]) -> Result<Answer, ClientError>,
) -> Result<ExitCode, Failure> {
    let format = talk.common.format;
    let filter = Filter::read(filter)?;
    let mut engine = Engine::of(pid, talk.timeout)?;
    let images = engine.images()?;
    for limit in &images.limits {
        say(format_args!("covsched: {limit}"));
    }
    let compiled = match filter.compile(&images) {
        Ok(compiled) => compiled,
        Err(rejected) if format == Format::Json => {
            print_json(&json!({
                "pid": pid,
                "done": false,
                "errors": diagnostics_json(&rejected.errors),
                "notes": rejected.notes,
            }))?;
            return Ok(ExitCode::from(BAD_INPUT));
        }
        Err(rejected) => return Err(filter.failure(&rejected)),
    };
    let warnings = &compiled.summary.warnings;
    if format == Format::Text && !warnings.is_empty() {
        say(filter.render(warnings).trim_end());
    }
    let answer = send(&mut engine, &compiled.plan).map_err(|error| engine.failure(&error))?;
    report(change, &engine, &answer, warnings, || Some(images), format)
}
