//! `covsched run`: runs a program under a recorded schedule.
//!
//! The schedule is compiled into a plan ([`covsched_core::plan`]), which the runtime in the program maps. Beside it is
//! the status file, through which the runtime tells how it follows: a divergence is reported at once, while
//! the program goes on. The program keeps its input, output, exit code and signals, as when it is recorded.
//!
//! - [`session`]: one run
//! - [`repeat`]: many, which `--check` compares
//! - [`report`]: a divergence in words; [`places`] looks up what the schedule does not know

mod check;
mod places;
mod repeat;
mod report;
mod session;
mod statics;
mod status;

use crate::failure::Failure;
use crate::program::launch::Launcher;
use crate::program::options::{self, Enforcing, OnDivergence, Wanted};
use crate::program::recorded::check_writable;
use crate::program::Program;
use crate::progress;
use crate::schedule_file::ScheduleFile;
use covsched_core::schedule::legal;
use covsched_core::schedule::order::Order;
use session::Session;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `run` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// The schedule to follow
    #[arg(long, value_name = "FILE.sched")]
    schedule: PathBuf,
    /// What to keep of its order
    #[arg(long, value_enum, default_value = "hb")]
    order: OrderName,
    /// What to do when the run leaves the schedule [default: continue]
    #[arg(long, value_enum)]
    on_divergence: Option<OnDivergence>,
    /// Record the run as well
    #[arg(long, value_name = "OUT.sched", conflicts_with_all = ["repeat", "check"])]
    record: Option<PathBuf>,
    /// Test aid: sleep or yield at random around synchronizations
    #[arg(long, value_name = "SEED")]
    delay: Option<u64>,
    /// Take it for a divergence if no thread gets any further for so long [default: wait]
    #[arg(long, value_name = "SECONDS")]
    stall: Option<u64>,
    /// Do not wait for the deadlines of waits that timed out in the schedule
    #[arg(long)]
    fast_timeouts: bool,
    /// Run so many times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Compare output, exit code and schedule of the runs, which have random delays from the second on
    #[arg(long)]
    check: bool,
    /// Say at the end how much of the schedule was followed
    #[arg(short)]
    verbose: bool,
    /// Where to keep plan and raw recording while the program runs [default: /dev/shm if it has room]
    #[arg(long, value_name = "DIR")]
    raw_dir: Option<PathBuf>,
    /// Append the seconds that the program ran to a file, a line a run
    #[arg(long, value_name = "FILE", hide = true)]
    time: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "APP [ARGUMENTS]"
    )]
    command: Vec<OsString>,
}

/// An order, as the command line names it.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum OrderName {
    /// Happens-before: what waits for each other in the schedule; threads that share nothing run freely
    Hb,
    /// Every synchronization after the one before it in the schedule
    Total,
}

impl From<OrderName> for Order {
    fn from(name: OrderName) -> Order {
        match name {
            OrderName::Hb => Order::Hb,
            OrderName::Total => Order::Total,
        }
    }
}

/// Runs; the exit code is the program's, or with `--check` whether all runs were the same.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (name, rest) = arguments.command.split_first().ok_or_else(|| Failure::bad("no program given"))?;
    let program = Program::find(name)?;
    // Millions of events take seconds.
    let progress = progress::spinner(format!("reading {}", arguments.schedule.display()));
    let mut schedule = read_schedule(&arguments.schedule, &program)?;
    let ignored = program.check_specialized_for(&schedule, arguments.order.into())?;
    schedule.schedule.leave_out(&ignored);
    let wanted = Wanted {
        on_divergence: arguments.on_divergence,
        stall: arguments.stall,
        fast_timeouts: arguments.fast_timeouts,
        delay: arguments.delay,
    };
    let settings = Enforcing::new(wanted, &options::of_user()?)?;
    if let Some(output) = &arguments.record {
        check_writable(output)?;
    }
    let mut session = Session::new(&program, rest, &schedule, arguments.order.into(), settings, arguments)?;
    session.leaves_out = !ignored.is_empty();
    progress.finish_and_clear();
    if arguments.check || arguments.repeat.is_some() {
        return repeat::run(&mut session, arguments.repeat.unwrap_or(1), arguments.check);
    }
    let launcher = Launcher::begin();
    let folder = session.folder(arguments.record.as_deref())?;
    session.run_once(&launcher, folder, arguments.record.as_deref())
}

/// Reads a schedule that this program can follow.
fn read_schedule(path: &Path, program: &Program) -> Result<ScheduleFile, Failure> {
    if path == Path::new("-") {
        return Err(Failure::bad(
            "--schedule -: standard input is the program's; the schedule must be in a file",
        ));
    }
    let file = ScheduleFile::read_verified(path)?;
    legal::check(&file.schedule)
        .map_err(|fault| Failure::bad(format!("{} (not a legal order)", file.describe(&fault))))?;
    check_fits(&file, program)?;
    Ok(file)
}

/// Refuses a schedule of another program, and one that does not begin where a program begins.
fn check_fits(file: &ScheduleFile, program: &Program) -> Result<(), Failure> {
    let (schedule, name) = (&file.schedule, &file.name);
    if schedule.program_id != program.id {
        return Err(Failure::bad(format!(
            "{name} is of another build: it was recorded from {} with identity {}, and {} has {}. Record it again: \
             covsched record -o {name} -- {}",
            schedule.program,
            schedule.program_id,
            program.path().display(),
            program.id,
            program.name.to_string_lossy(),
        )));
    }
    if schedule.forked {
        return Err(Failure::bad(format!(
            "{name} is the schedule of a forked process, which begins in the middle of its parent's run: no program \
             can be started under it. Give the parent's schedule; its children run freely"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::Binary;
    use covsched_core::ProgramId;

    const SCHEDULE: &str = "covsched-schedule 1\nprogram \"./old\" 00000000000000aa\ncommand \"./old\"\n\
                            complete\nthread t0 main\nevents 2\nt0 entry\nt0 return\nend\n";

    /// What is said about a schedule for a program with identity aa.
    fn reading(text: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sched");
        std::fs::write(&path, text).unwrap();
        let binary = Binary::part("./app".into(), Vec::new());
        let program = Program { name: "./app".into(), binary, id: ProgramId(0xaa) };
        read_schedule(&path, &program).map(drop).map_err(|failure| {
            assert!(matches!(failure, Failure::BadInput(_)), "{failure}");
            failure.to_string()
        })
    }

    #[test]
    fn a_schedule_that_does_not_fit_is_refused() {
        assert_eq!(reading(SCHEDULE), Ok(()));
        let other = reading(&SCHEDULE.replace("00aa", "00bb")).unwrap_err();
        assert!(
            other.contains(
                "a.sched is of another build: it was recorded from ./old with identity 00000000000000bb, and ./app \
                 has 00000000000000aa. Record it again: covsched record -o"
            ),
            "{other}"
        );
        let forked = reading(&SCHEDULE.replace("complete\n", "complete\nforked\n")).unwrap_err();
        assert!(forked.contains("a.sched is the schedule of a forked process"), "{forked}");
    }

    #[test]
    fn a_schedule_that_is_none_is_refused() {
        let ill_formed = reading(&SCHEDULE.replace("t0 return", "t0 pthread_mutex_lock")).unwrap_err();
        assert!(ill_formed.contains("a.sched:8: event 2: pthread_mutex_lock has no object"), "{ill_formed}");
        let illegal = SCHEDULE.replace(
            "events 2\nt0 entry\n",
            "object m0\nevents 4\nt0 entry\nt0 pthread_mutex_lock m0 =0\nt0 pthread_mutex_lock m0 =0\n",
        );
        let illegal = reading(&illegal).unwrap_err();
        assert!(
            illegal.contains("a.sched:10: event 3:") && illegal.ends_with("(not a legal order)"),
            "{illegal}"
        );
        let program =
            Program { name: "a".into(), binary: Binary::part("a".into(), Vec::new()), id: ProgramId(1) };
        let piped = read_schedule(Path::new("-"), &program).err().unwrap().to_string();
        assert!(piped.contains("standard input is the program's"), "{piped}");
    }
}
