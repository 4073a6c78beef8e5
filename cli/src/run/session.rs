//! One run under a schedule: the plan in a private folder, the program, and a thread that waits for a divergence.

use super::report::Reporter;
use super::statics::Statics;
use super::status::StatusFile;
use super::{places, Arguments};
use crate::failure::Failure;
use crate::program::launch::{Call, Ended, Launcher};
use crate::program::options::{Enforcing, OnDivergence};
use crate::program::private_folder::PrivateFolder;
use crate::program::recorded::Recorded;
use crate::program::Program;
use crate::say::say;
use crate::schedule_file::ScheduleFile;
use covsched_core::plan::Divergence;
use covsched_core::schedule::compile::compile;
use covsched_core::schedule::order::{steps, Order};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Everything that the runs of one command share.
pub struct Session<'a> {
    pub program: &'a Program,
    pub arguments: &'a [OsString],
    pub file: &'a ScheduleFile,
    pub order: Order,
    pub settings: Enforcing,
    /// Synchronizations are left out of the schedule: the program does not know which calls led to them either.
    pub leaves_out: bool,
    /// By thread: indices of its events that are steps.
    steps: Vec<Vec<usize>>,
    /// Until it is in its file.
    plan: Vec<u8>,
    raw_dir: Option<&'a Path>,
    verbose: bool,
    time: Option<File>,
}

/// What is particular to one run.
#[derive(Default)]
pub struct Particular<'a> {
    pub delay: Option<u64>,
    /// Its folder for a raw recording; `None`: it is not recorded.
    pub log: Option<&'a Path>,
    pub stdin: Option<File>,
    pub stdout: Option<File>,
    /// Where to say something, if not plainly on standard error.
    pub say: Option<&'a (dyn Fn(&str) + Sync)>,
}

/// How a run went.
pub struct Outcome {
    pub ended: Ended,
    /// How many times a thread left the schedule.
    pub divergences: u32,
    /// How many events were followed.
    followed: u64,
}

impl<'a> Session<'a> {
    /// Compiles the schedule.
    pub fn new(
        program: &'a Program,
        rest: &'a [OsString],
        file: &'a ScheduleFile,
        order: Order,
        settings: Enforcing,
        arguments: &'a Arguments,
    ) -> Result<Session<'a>, Failure> {
        let open = |path: &PathBuf| {
            let opened = File::options().append(true).create(true).open(path);
            opened.map_err(|error| Failure::file(path, &error))
        };
        Ok(Session {
            program,
            arguments: rest,
            file,
            order,
            settings,
            leaves_out: false,
            steps: steps(&file.schedule),
            plan: compile(&file.schedule, order, &Statics::of(program)),
            raw_dir: arguments.raw_dir.as_deref(),
            verbose: arguments.verbose,
            time: arguments.time.as_ref().map(open).transpose()?,
        })
    }

    /// The folder for all runs, with the plan in it.
    pub fn folder(&mut self, output: Option<&Path>) -> Result<PrivateFolder, Failure> {
        let folder = PrivateFolder::make(self.raw_dir, output)?;
        let place = plan_in(&folder);
        std::fs::write(&place, std::mem::take(&mut self.plan))
            .map_err(|error| Failure::file(&place, &error))?;
        Ok(folder)
    }

    /// The only run of a command.
    pub fn run_once(
        &self,
        launcher: &Launcher,
        folder: PrivateFolder,
        record: Option<&Path>,
    ) -> Result<ExitCode, Failure> {
        if let Some(signal) = launcher.asked_to_end() {
            return Ok(ExitCode::from(128 + signal as u8));
        }
        let log = record.map(|_| self.log_folder(&folder)).transpose()?;
        let particular =
            Particular { delay: self.settings.delay, log: log.as_deref(), ..Particular::default() };
        let outcome = self.run(launcher, &folder, particular)?;
        launcher.finish();
        if self.verbose {
            say(format_args!("covsched: {}", self.summary(&outcome)));
        }
        if let (Some(output), Some(log)) = (record, &log) {
            let is_ended = outcome.divergences > 0 && self.settings.on_divergence == OnDivergence::Abort;
            let why = is_ended.then_some("it left the schedule that it followed, and was ended");
            let found = Recorded::find(self.program, log, &outcome.ended);
            let written = found.and_then(|found| found.because(why).write(output, &|| launcher.go_on()));
            if let Err(Failure::Bug(_)) = written {
                say(format_args!("covsched: the raw recording is kept in {}", folder.keep().display()));
            }
            written?;
        }
        Ok(outcome.ended.exit_code())
    }

    /// Runs the program in a folder that [`Session::folder`] made. Divergences are reported while it runs.
    pub fn run(
        &self,
        launcher: &Launcher,
        folder: &PrivateFolder,
        particular: Particular<'_>,
    ) -> Result<Outcome, Failure> {
        let plan = plan_in(folder);
        let status_place = status_of(&plan);
        let status = StatusFile::create(&status_place, self.file.schedule.threads.len())?;
        let mut settings = self.settings.clone();
        settings.delay = particular.delay;
        let options = settings.options(self.program.id, &plan, particular.log)?;
        let mut call = Call::new(self.program, self.arguments, &options);
        (call.stdin, call.stdout) = (particular.stdin, particular.stdout);
        let say = particular.say.unwrap_or(&|text| say(text));
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                if let Some(divergence) = status.wait() {
                    say(&self.report(&divergence, &status.followed()));
                }
            });
            let ended = launcher.run(call);
            status.end();
            ended
        });
        // The next run makes its own.
        let _ = std::fs::remove_file(&status_place);
        let ended = ended?;
        self.note_time(&ended)?;
        if !status.was_taken_up() {
            return Err(Failure::bad(format!(
                "{}: the program {} and did not take up the schedule: it ended before covsched's runtime began, or \
                 was built with another version of covsched (build it again)",
                self.program.path().display(),
                ended.how(),
            )));
        }
        let followed = status.followed().into_iter().map(u64::from).sum();
        Ok(Outcome { ended, divergences: status.divergences(), followed })
    }

    fn report(&self, divergence: &Divergence, followed: &[u32]) -> String {
        let reporter = Reporter {
            file: &self.file.name,
            schedule: &self.file.schedule,
            steps: &self.steps,
            settings: &self.settings,
            find_site: &|site| places::find(self.program, site),
        };
        reporter.words(divergence, followed)
    }

    /// A folder inside for a recording.
    pub fn log_folder(&self, folder: &PrivateFolder) -> Result<PathBuf, Failure> {
        let place = folder.path().join("log");
        let made = std::fs::create_dir(&place);
        made.map_err(|error| Failure::file(&place, &error))?;
        Ok(place)
    }

    fn note_time(&self, ended: &Ended) -> Result<(), Failure> {
        let Some(mut file) = self.time.as_ref() else { return Ok(()) };
        writeln!(file, "{:.6}", ended.took.as_secs_f64())
            .map_err(|error| Failure::bad(format!("cannot write the time: {error}")))
    }

    /// What `-v` says.
    pub fn summary(&self, outcome: &Outcome) -> String {
        let all = self.steps.iter().map(Vec::len).sum::<usize>();
        summary(outcome.followed, all, outcome.divergences, &outcome.ended)
    }

    /// Whether `-v` was given.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }
}

fn summary(followed: u64, all: usize, divergences: u32, ended: &Ended) -> String {
    let left = match divergences {
        0 => "no divergence".to_owned(),
        1 => "1 divergence".to_owned(),
        many => format!("{many} divergences"),
    };
    let killed = match ended.status.signal() {
        Some(_) => format!("; the program {}", ended.how()),
        None => String::new(),
    };
    format!("followed {followed} of {all} events, {left}{killed}")
}

fn plan_in(folder: &PrivateFolder) -> PathBuf {
    folder.path().join("plan")
}

fn status_of(plan: &Path) -> PathBuf {
    let mut name = plan.as_os_str().to_owned();
    name.push(".status");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;
    use std::time::Duration;

    #[test]
    fn the_summary_says_what_was_followed_and_how_it_ended() {
        let ended = |raw| Ended { pid: 1, status: ExitStatus::from_raw(raw), took: Duration::ZERO };
        assert_eq!(summary(8, 8, 0, &ended(0)), "followed 8 of 8 events, no divergence");
        assert_eq!(summary(3, 8, 1, &ended(0x4200)), "followed 3 of 8 events, 1 divergence");
        assert_eq!(
            summary(3, 8, 2, &ended(11)),
            "followed 3 of 8 events, 2 divergences; the program was killed by signal 11 (SIGSEGV)"
        );
    }

    #[test]
    fn the_status_file_stands_beside_the_plan() {
        assert_eq!(status_of(Path::new("/a/plan")), Path::new("/a/plan.status"));
    }
}
