//! `covsched record`: runs a program in record mode and writes the schedule of the run.
//!
//! The program keeps its input, output, exit code and signals: [`crate::program::launch`]. The runtime in it writes a
//! raw recording into a folder, which is then turned into schedules: [`crate::program::recorded`].

use crate::failure::Failure;
use crate::program::launch::{Call, Launcher};
use crate::program::private_folder::PrivateFolder;
use crate::program::recorded::{check_writable, Recorded};
use crate::program::{options, Program};
use crate::say::say;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `record` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// Where to write the schedule [default: the program's name with .sched, in this folder]
    #[arg(short, value_name = "FILE.sched")]
    output: Option<PathBuf>,
    /// Test aid: sleep or yield at random around synchronizations
    #[arg(long, value_name = "SEED")]
    delay: Option<u64>,
    /// Where to keep the raw recording while the program runs [default: /dev/shm, or beside the schedule]
    #[arg(long, value_name = "DIR")]
    raw_dir: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "APP [ARGUMENTS]"
    )]
    command: Vec<OsString>,
}

/// Records; the exit code is the program's.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (name, rest) = arguments.command.split_first().ok_or_else(|| Failure::bad("no program given"))?;
    let program = Program::find(name)?;
    let output = arguments.output.clone().unwrap_or_else(|| default_output(program.path()));
    check_writable(&output)?;
    let launcher = Launcher::begin();
    let folder = PrivateFolder::make(arguments.raw_dir.as_deref(), Some(&output))?;
    let options = options::for_recording(&options::of_user()?, folder.path(), program.id, arguments.delay)?;

    let ended = launcher.run(Call::new(&program, rest, &options))?;

    launcher.finish();
    let found = Recorded::find(&program, folder.path(), &ended);
    let written = found.and_then(|found| found.write(&output, &|| launcher.go_on()));
    // What went wrong can be found only with the recording.
    if let Err(Failure::Bug(_)) = written {
        say(format_args!("covsched: the raw recording is kept in {}", folder.keep().display()));
    }
    written.map(|()| ended.exit_code())
}

fn default_output(app: &Path) -> PathBuf {
    let mut name = app.file_name().unwrap_or_default().to_owned();
    name.push(".sched");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_named_after_its_program() {
        assert_eq!(default_output(Path::new("../x/app.v2")), Path::new("app.v2.sched"));
    }
}
