//! The command line. One subcommand is one file or folder; `cc` and `c++` read clang's arguments themselves,
//! everything else is declared in [`commands`].
//!
//! Exit codes: 0 done, 1 something was found, 2 usage or bad input, 70 a bug in covsched, 128 + N stopped by signal N.
//! `record` and `run` pass the program's own exit code through, `cc` and `c++` are clang once they have looked at the arguments.

mod bitcode;
mod commands;
mod compile;
mod elf;
mod epochs;
mod failure;
mod install;
mod loom;
mod names;
mod needed;
mod program;
mod progress;
mod record;
mod run;
mod say;
mod schedule_file;
mod show;
mod sites;
mod specialize;
mod verify;
mod whole_program;

use failure::Failure;
use say::say;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        say(format_args!("bug in covsched: {info}"));
        say("Please report it with the command line that caused it.");
    }));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let outcome = std::panic::catch_unwind(|| commands::run(arguments));
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(Failure::BrokenPipe)) => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            say(format_args!("covsched: {failure}"));
            failure.exit_code()
        }
        Err(_) => ExitCode::from(failure::BUG),
    }
}
