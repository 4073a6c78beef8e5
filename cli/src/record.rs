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
    #[command(flatten)]
    epochs: EpochArguments,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "APP [ARGUMENTS]"
    )]
    command: Vec<OsString>,
}

/// What an epoch is, for a program compiled with --epochs.
#[derive(clap::Args, Clone, Default)]
struct EpochArguments {
    /// At an epoch marker: wait until every other thread is at one, is blocked or has ended; or go on
    #[arg(long, value_enum, value_name = "barrier|free")]
    epochs: Option<Epochs>,
    /// A thread passes by markers until its epoch has had N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    epoch_markers: Option<u32>,
    /// A thread passes by markers until its epoch has had N instructions (needs --epochs=count-instructions)
    #[arg(long, value_name = "N")]
    epoch_instructions: Option<u64>,
    /// With --epochs barrier: pass by a marker if a thread that waits is ahead by more than K
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(..u64::MAX))]
    epoch_balance: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Epochs {
    Barrier,
    Free,
}

impl EpochArguments {
    /// What was said on the command line, as options of the runtime.
    fn options(&self) -> Vec<(&'static str, String)> {
        let mode = self.epochs.map(|epochs| match epochs {
            Epochs::Barrier => "barrier".to_owned(),
            Epochs::Free => "free".to_owned(),
        });
        let options = [
            ("epochs", mode),
            ("epoch-markers", self.epoch_markers.map(|number| number.to_string())),
            ("epoch-instructions", self.epoch_instructions.map(|number| number.to_string())),
            ("epoch-balance", self.epoch_balance.map(|number| number.to_string())),
        ];
        options.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// Records; the exit code is the program's.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (name, rest) = arguments.command.split_first().ok_or_else(|| Failure::bad("no program given"))?;
    let program = Program::find(name)?;
    program.check_guarded()?;
    let output = arguments.output.clone().unwrap_or_else(|| default_output(program.path()));
    check_writable(&output)?;
    let launcher = Launcher::begin();
    let folder = PrivateFolder::make(arguments.raw_dir.as_deref(), Some(&output))?;
    let mut wanted = arguments.epochs.options();
    wanted.extend(arguments.delay.map(|seed| ("delay", seed.to_string())));
    let user = options::of_user()?;
    let asked = options::value(&user, &wanted, "epochs")?;
    let is_barrier = asked.is_some_and(|epochs| epochs == "barrier");
    if arguments.epochs.epoch_balance.is_some() && !is_barrier {
        return Err(Failure::bad(
            "--epoch-balance is about threads that wait for each other: it needs --epochs barrier",
        ));
    }
    if is_barrier && !program.has_epochs()? {
        say(format_args!(
            "covsched: {}: neither the program nor a library that it is linked with was compiled with --epochs: \
             it runs without epochs",
            program.path().display()
        ));
    }
    let options = options::for_recording(&user, folder.path(), program.id, &wanted)?;

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
    fn only_what_was_said_about_epochs_becomes_an_option() {
        assert!(EpochArguments::default().options().is_empty());
        let said = EpochArguments {
            epochs: Some(Epochs::Barrier),
            epoch_balance: Some(3),
            ..EpochArguments::default()
        };
        let expected = [("epochs", "barrier".to_owned()), ("epoch-balance", "3".to_owned())];
        assert_eq!(said.options(), expected);
    }

    #[test]
    fn a_schedule_is_named_after_its_program() {
        assert_eq!(default_output(Path::new("../x/app.v2")), Path::new("app.v2.sched"));
    }
}
