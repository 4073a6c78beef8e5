//! `covsched specialize`: a program and one of its schedules become a program for that schedule alone (Wu, Ch. 4): bitcode
//! that `covsched cc OUT.bc -o app` compiles, and that tells `covsched run` what it was made for.
//!
//! The program is taken as a whole ([`crate::whole_program`]).

use crate::elf::{self, Binary};
use crate::failure::Failure;
use crate::names::demangle_all;
use crate::program::recorded::check_writable;
use crate::progress;
use crate::run::OrderName;
use crate::say::say;
use crate::schedule_file::{self, ScheduleFile};
use crate::whole_program::{describe, read_app};
use covsched::ir::code::Summaries;
use covsched::specialize::data::summaries;
use covsched::specialize::driver::FLAG;
use covsched::specialize::{specialize, DataOptions, Options, SpecializeError, Specialized};
use covsched_core::schedule::legal;
use covsched_core::ProgramId;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What `specialize` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// An executable made by covsched cc, a bitcode file or an .ll file; taken as the whole program
    #[arg(value_name = "APP")]
    app: PathBuf,
    /// The schedule to specialize it for
    #[arg(long, value_name = "FILE.sched")]
    schedule: PathBuf,
    /// The order that runs will follow
    #[arg(long, value_enum, default_value = "hb")]
    order: OrderName,
    /// Where to write the bitcode [default: APP.spec.bc]
    #[arg(short, value_name = "OUT.bc")]
    output: Option<PathBuf>,
    /// Specialize control flow and leave data flow as it is
    #[arg(long)]
    control_only: bool,
    /// Leave guards out: for analyses, never to be run
    #[arg(long)]
    analysis_only: bool,
    /// Let LLVM's optimizers have the result: smaller and faster, but accesses that race may be gone
    #[arg(long, conflicts_with = "control_only")]
    aggressive: bool,
    /// Compare each constant with the value that it stands for, when the program runs: a test of covsched
    #[arg(long, conflicts_with_all = ["control_only", "analysis_only"])]
    check: bool,
    /// Functions that stand for others while the program is analysed: lines `function = stand-in`
    #[arg(long, value_name = "FILE", conflicts_with = "control_only")]
    summaries: Option<PathBuf>,
    /// Write what was found about values and accesses as JSON
    #[arg(long, value_name = "FILE.json", conflicts_with = "control_only")]
    facts: Option<PathBuf>,
    /// Give the solver so much time in all
    #[arg(long, value_name = "SECONDS", default_value_t = 45, conflicts_with = "control_only")]
    solver_time: u64,
    /// Leave synchronizations alone whose file, function or call matches; may be given several times
    #[arg(long, value_name = "GLOB")]
    ignore_sites: Vec<String>,
    /// Write figures about the work as JSON
    #[arg(long, value_name = "FILE.json")]
    stats: Option<PathBuf>,
    /// Say what was done
    #[arg(short)]
    verbose: bool,
}

/// Specializes and writes.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let output = arguments.output.clone().unwrap_or_else(|| default_output(&arguments.app));
    for place in std::iter::once(&output).chain(&arguments.stats).chain(&arguments.facts) {
        check_writable(place)?;
    }
    let progress = progress::spinner(format!("specializing {}", arguments.app.display()));
    let file = ScheduleFile::read_verified(&arguments.schedule)?;
    legal::check(&file.schedule)
        .map_err(|fault| Failure::bad(format!("{} (not a legal order)", file.describe(&fault))))?;
    let program = read_app(&arguments.app)?;
    let summaries = match &arguments.summaries {
        Some(place) => summaries::read(&place.to_string_lossy()).map_err(Failure::bad)?,
        None => Summaries::default(),
    };
    let options = Options {
        order: arguments.order.into(),
        control_only: arguments.control_only,
        analysis_only: arguments.analysis_only,
        data: DataOptions {
            aggressive: arguments.aggressive,
            check: arguments.check,
            summaries,
            wants_facts: arguments.facts.is_some(),
            total_time: Duration::from_secs(arguments.solver_time),
            ..DataOptions::default()
        },
        ignore_sites: arguments.ignore_sites.clone(),
        program: executable_id(&arguments.app)?,
    };
    if program.module().has_flag(FLAG) {
        let error = SpecializeError::Specialized;
        return Err(Failure::bad(format!("{}: {error}", arguments.app.display())));
    }
    let Specialized { stats, mut facts } =
        specialize(program.module(), &file.schedule, &options).map_err(|error| {
            Failure::bad(demangle_all(&format!("{}: {}: {error}", arguments.app.display(), file.name)))
        })?;
    program.verify().map_err(|error| describe(&error))?;
    write(&output, &program.bitcode())?;
    if let Some(place) = &arguments.stats {
        write(place, stats.json().as_bytes())?;
    }
    if let Some(place) = &arguments.facts {
        write(place, facts.json().as_bytes())?;
    }
    progress.finish_and_clear();
    if arguments.verbose {
        say(demangle_all(&format!("covsched: {}: {}", output.display(), stats.summary())));
    }
    // The process ends: to free a large module piece by piece would take a tenth of the time.
    std::mem::forget(program);
    Ok(ExitCode::SUCCESS)
}

/// The build of an executable, which may have units that are not in its bitcode; `None` for bitcode.
fn executable_id(app: &Path) -> Result<Option<ProgramId>, Failure> {
    let binary = Binary::read(app)?;
    if !binary.bytes().starts_with(b"\x7fELF") {
        return Ok(None);
    }
    let file = binary.parse()?;
    elf::site_tables(app, &file).map(|tables| Some(tables.program))
}

/// `app.spec.bc` beside `app`, `app.bc` or `app.ll`.
fn default_output(app: &Path) -> PathBuf {
    let is_ir = app.extension().is_some_and(|ending| ending == "bc" || ending == "ll");
    let mut name =
        if is_ir { app.file_stem() } else { app.file_name() }.map_or_else(OsString::new, OsString::from);
    name.push(".spec.bc");
    app.with_file_name(name)
}

fn write(place: &Path, bytes: &[u8]) -> Result<(), Failure> {
    schedule_file::replace(place, |mut file| file.write_all(bytes))
        .map_err(|error| Failure::file(place, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_stands_beside_the_program() {
        for (app, output) in [
            ("app", "app.spec.bc"),
            ("build/app", "build/app.spec.bc"),
            ("app.bc", "app.spec.bc"),
            ("/x/app.ll", "/x/app.spec.bc"),
            ("app.v2", "app.v2.spec.bc"),
        ] {
            assert_eq!(default_output(Path::new(app)), Path::new(output));
        }
    }
}
