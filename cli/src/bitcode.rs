//! `covsched bitcode`: the whole program's bitcode, got back from an executable and put into one module:
//! [`crate::whole_program`].

use crate::failure::Failure;
use crate::whole_program::{describe, link_binaries};
use std::path::PathBuf;
use std::process::ExitCode;

/// What `bitcode` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// The executable; shared objects, object files and archives that belong to the program may follow
    #[arg(value_name = "APP", required = true)]
    files: Vec<PathBuf>,
    /// Where to write the module
    #[arg(short, value_name = "OUT.bc")]
    output: PathBuf,
}

/// Links and writes.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let linked = link_binaries(&arguments.files)?;
    linked.write(&arguments.output).map_err(|error| describe(&error))?;
    Ok(ExitCode::SUCCESS)
}
