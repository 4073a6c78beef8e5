//! `covsched verify`: is a schedule well-formed, and could its run have happened in this order?

use crate::failure::Failure;
use crate::schedule_file::ScheduleFile;
use covsched_core::schedule::{legal, verify};
use std::path::PathBuf;
use std::process::ExitCode;

/// What `verify` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// The schedule; - is standard input
    #[arg(value_name = "FILE.sched")]
    file: PathBuf,
}

/// Exit code 0: it is; 1: its order is not legal, and the line says why; 2: not a schedule, or not well-formed, as
/// for the commands that read one.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = ScheduleFile::read(&arguments.file)?;
    verify::verify(&file.schedule)
        .map_err(|fault| Failure::bad(format!("{} (not well-formed)", file.describe(&fault))))?;
    legal::check(&file.schedule)
        .map_err(|fault| Failure::Found(format!("{} (not a legal order)", file.describe(&fault))))?;
    Ok(ExitCode::SUCCESS)
}
