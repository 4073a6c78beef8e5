//! What the command line may say.

use crate::failure::{Failure, BAD_INPUT};
use crate::{bitcode, compile, epochs, loom, record, run, show, sites, specialize, verify};
use clap::{Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// Schedules you can trust: compile a threaded program, record the schedule of a run, make later runs follow it.
#[derive(Parser)]
#[command(name = "covsched", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile C: clang with the plugin and the runtime; every clang argument works
    #[command(name = "cc", disable_help_flag = true)]
    Cc(ClangArguments),
    /// Compile C++: clang++ with the plugin and the runtime
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(ClangArguments),
    /// Run a program and write the schedule of the run
    Record(record::Arguments),
    /// Run a program under a recorded schedule
    Run(run::Arguments),
    /// Print a schedule with source lines
    Show(show::Arguments),
    /// Check that a schedule is well-formed and legal
    Verify(verify::Arguments),
    /// List the sites in a program
    Sites(sites::Arguments),
    /// Say where a program's epoch markers are, and why each loop has one or not
    Epochs(epochs::Arguments),
    /// Make a program for one schedule alone
    Specialize(specialize::Arguments),
    /// Get the whole program's bitcode back from an executable
    Bitcode(bitcode::Arguments),
    /// Work around races in a running program: install, list, replace and remove execution filters
    Loom(loom::Arguments),
}

/// Only for the help: these commands never reach clap.
#[derive(clap::Args)]
struct ClangArguments {
    /// As for clang
    #[arg(value_name = "CLANG ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs the command; gives the exit code.
pub fn run(mut arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    // Clang's arguments are not clap's: `--` and `-h` mean something else, and any bytes are allowed.
    if let Some((cxx, arguments)) = compiler_call(&arguments) {
        return compile::run(cxx, arguments);
    }
    if is_loomctl(&arguments) {
        arguments.insert(1, "loom".into());
    }
    let line = match CommandLine::try_parse_from(arguments) {
        Ok(line) => line,
        Err(error) => {
            // Help and version are errors to clap, with exit code 0.
            let _ = error.print();
            return Ok(if error.use_stderr() { ExitCode::from(BAD_INPUT) } else { ExitCode::SUCCESS });
        }
    };
    match line.command {
        Command::Cc(clang) => compile::run(false, &clang.arguments),
        Command::Cxx(clang) => compile::run(true, &clang.arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Sites(arguments) => sites::run(&arguments),
        Command::Epochs(arguments) => epochs::run(&arguments),
        Command::Specialize(arguments) => specialize::run(&arguments),
        Command::Bitcode(arguments) => bitcode::run(&arguments),
        Command::Loom(arguments) => loom::run(&arguments),
    }
}

/// Whether this is a call of the compiler, by the executable's name or by the first argument.
fn compiler_call(arguments: &[OsString]) -> Option<(bool, &[OsString])> {
    let name = arguments.first().and_then(|path| Path::new(path).file_name())?;
    let language = |word: &OsStr, c: &str, cxx: &str| {
        let cxx = word == cxx;
        (cxx || word == c).then_some(cxx)
    };
    if let Some(cxx) = language(name, "covsched-cc", "covsched-c++") {
        return Some((cxx, &arguments[1..]));
    }
    let cxx = language(arguments.get(1)?, "cc", "c++")?;
    Some((cxx, &arguments[2..]))
}

/// Whether the name is that of Wu's controller, whose first word is a subcommand of `loom`.
fn is_loomctl(arguments: &[OsString]) -> bool {
    let name = arguments.first().and_then(|path| Path::new(path).file_name());
    name == Some(OsStr::new("loomctl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(words: &[&str]) -> Option<(bool, usize)> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        compiler_call(&words).map(|(cxx, rest)| (cxx, rest.len()))
    }

    #[test]
    fn the_compiler_is_called_by_either_name() {
        assert_eq!(call(&["/usr/bin/covsched-cc", "-c", "a.c"]), Some((false, 2)));
        assert_eq!(call(&["covsched-c++"]), Some((true, 0)));
        assert_eq!(call(&["covsched", "cc", "--help"]), Some((false, 1)));
        assert_eq!(call(&["covsched", "c++", "-h"]), Some((true, 1)));
        assert_eq!(call(&["covsched", "record", "cc"]), None);
        assert_eq!(call(&["covsched"]), None);
    }

    #[test]
    fn loomctl_is_loom() {
        assert!(is_loomctl(&["/usr/bin/loomctl".into(), "ls".into()]));
        assert!(!is_loomctl(&["covsched".into(), "loomctl".into()]) && !is_loomctl(&[]));
    }

    #[test]
    fn the_declaration_of_the_commands_is_consistent() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }
}
