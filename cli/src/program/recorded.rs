//! From what the runtime left in its folder to schedules: one for each process that recorded.
//!
//! `FILE.sched` is the program's, `FILE.PID.sched` a forked child's, with `-N` behind the PID for what the
//! process became by the Nth exec. Where FILE is a device or pipe there is only the program's own.

use super::launch::Ended;
use super::symbols::Variables;
use super::Program;
use crate::failure::Failure;
use crate::say::say;
use crate::schedule_file::GoOn;
use crate::{progress, schedule_file};
use covsched_core::schedule::assemble::assemble;
use covsched_core::schedule::recording::{images, Image, Recording};
use covsched_core::schedule::{Completeness, Schedule};
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// What one run of a program left in its folder.
pub struct Recorded<'a> {
    program: &'a Program,
    folder: &'a Path,
    ended: &'a Ended,
    /// The program itself.
    root: Image,
    found: Vec<(Image, Vec<u32>)>,
    /// Why covsched itself ended the program, if it did.
    why: Option<&'a str>,
}

impl<'a> Recorded<'a> {
    /// Looks what is there; it is an error if the program itself wrote nothing.
    pub fn find(program: &'a Program, folder: &'a Path, ended: &'a Ended) -> Result<Recorded<'a>, Failure> {
        let found = images(folder).map_err(|error| Failure::bad(error.to_string()))?;
        let root = Image { pid: ended.pid, number: 0 };
        if !found.iter().any(|(image, _)| *image == root) {
            return Err(Failure::bad(format!(
                "{}: the program {} and wrote no recording: it ended before covsched's runtime began, or the runtime \
                 could not write to {}",
                program.path().display(),
                ended.how(),
                folder.display()
            )));
        }
        Ok(Recorded { program, folder, ended, root, found, why: None })
    }

    /// The same, of a program that covsched itself ended.
    pub fn because(self, why: Option<&'a str>) -> Recorded<'a> {
        Recorded { why, ..self }
    }

    /// Writes a schedule for each process, as long as covsched may go on.
    pub fn write(&self, output: &Path, go_on: GoOn<'_>) -> Result<(), Failure> {
        write_each(&self.found, self.root, |image, logs| {
            let Some(place) = output_for(output, image, self.root) else {
                say(format_args!(
                    "covsched: process {}: its schedule is not written, since {} is no regular file",
                    image.pid,
                    output.display()
                ));
                return Ok(());
            };
            // Millions of events take seconds.
            let progress = progress::spinner(format!("writing {}", place.display()));
            go_on()?;
            let schedule = self.assemble(image, logs)?;
            schedule_file::write(&schedule, &place, go_on)?;
            progress.finish_and_clear();
            say_what_was_written(&schedule, &place);
            Ok(())
        })
    }

    /// The program's own schedule.
    pub fn schedule(&self) -> Result<Schedule, Failure> {
        let own = self.found.iter().find(|(image, _)| *image == self.root);
        let (image, logs) = own.ok_or_else(|| Failure::Bug("the recording is gone".to_owned()))?;
        self.assemble(*image, logs)
    }

    /// Turns one image's recording into its schedule.
    fn assemble(&self, image: Image, logs: &[u32]) -> Result<Schedule, Failure> {
        let recording =
            Recording::read(self.folder, image, logs).map_err(|error| Failure::bad(error.to_string()))?;
        let symbols = Variables::of(&recording, &self.program.binary);
        let name = self.program.name.to_string_lossy();
        assemble(recording, &name, &symbols, &self.unseen_end(image)).map_err(|fault| {
            Failure::Bug(format!("the recording of process {} is inconsistent: {fault}", image.pid))
        })
    }

    /// Why an image's recording may lack its end.
    fn unseen_end(&self, image: Image) -> String {
        let last = !self.found.iter().any(|(other, _)| other.pid == image.pid && other.number > image.number);
        match (last, image.pid == self.root.pid) {
            (false, _) => "it became another program by exec".to_owned(),
            (true, true) => self.why.map_or_else(|| self.ended.unseen_end(), str::to_owned),
            (true, false) if is_running(image.pid) => {
                "it was still running when its parent had ended".to_owned()
            }
            (true, false) => "it ended in a way that covsched did not see".to_owned(),
        }
    }
}

/// Does something with each process, the program's own first. A bug that one recording shows does not take the
/// others away.
fn write_each<T>(
    found: &[(Image, T)],
    root: Image,
    mut write: impl FnMut(Image, &T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (own, others): (Vec<_>, Vec<_>) = found.iter().partition(|(image, _)| *image == root);
    let mut bug = None;
    for (image, logs) in own.into_iter().chain(others) {
        match write(*image, logs) {
            Ok(()) => {}
            Err(failure @ Failure::Bug(_)) => {
                if let Some(earlier) = bug.replace(failure) {
                    say(format_args!("covsched: {earlier}"));
                }
            }
            Err(failure @ Failure::Stopped(_)) => return Err(failure),
            Err(failure) if *image == root => return Err(failure),
            // A child may have been killed before its recording had a head.
            Err(failure) => say(format_args!("covsched: process {}: {failure}", image.pid)),
        }
    }
    bug.map_or(Ok(()), Err)
}

fn say_what_was_written(schedule: &Schedule, place: &Path) {
    match &schedule.completeness {
        Completeness::Incomplete(reason) => {
            say(format_args!("covsched: {} is incomplete: {reason}", place.display()));
        }
        Completeness::Complete if std::io::stderr().is_terminal() => {
            let (events, threads) = (schedule.events.len(), schedule.threads.len());
            say(format_args!("covsched: wrote {} ({events} events of {threads} threads)", place.display()));
        }
        Completeness::Complete => {}
    }
}

/// Before the program runs: a run cannot be had again.
pub fn check_writable(output: &Path) -> Result<(), Failure> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Failure::bad(format!(
            "{}: the folder {} does not exist",
            output.display(),
            folder.display()
        )));
    }
    if output.is_dir() {
        return Err(Failure::bad(format!("{}: is a folder", output.display())));
    }
    // A device, such as /dev/null, is written in place.
    if schedule_file::is_special(output) {
        return Ok(());
    }
    tempfile::tempfile_in(folder)
        .map(drop)
        .map_err(|error| Failure::bad(format!("{}: cannot write to its folder: {error}", output.display())))
}

/// `FILE.sched`, or `FILE.PID.sched` for other processes; these have no place beside a device.
fn output_for(output: &Path, image: Image, root: Image) -> Option<PathBuf> {
    if image == root {
        return Some(output.to_owned());
    }
    if schedule_file::is_special(output) {
        return None;
    }
    let number = if image.number == 0 { String::new() } else { format!("-{}", image.number) };
    let stem = if output.extension() == Some(OsStr::new("sched")) {
        output.with_extension("")
    } else {
        output.to_owned()
    };
    let mut name = stem.into_os_string();
    name.push(format!(".{}{number}.sched", image.pid));
    Some(PathBuf::from(name))
}

fn is_running(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_processes_get_files_of_their_own() {
        let root = Image { pid: 7, number: 0 };
        let place = |pid, number| output_for(Path::new("d/app.sched"), Image { pid, number }, root);
        assert_eq!(place(7, 0).unwrap(), Path::new("d/app.sched"));
        assert_eq!(place(8, 0).unwrap(), Path::new("d/app.8.sched"));
        assert_eq!(place(7, 1).unwrap(), Path::new("d/app.7-1.sched"));
        let child = Image { pid: 8, number: 0 };
        assert_eq!(output_for(Path::new("out"), child, root).unwrap(), Path::new("out.8.sched"));
        assert_eq!(output_for(Path::new("/dev/null"), child, root), None);
        assert_eq!(output_for(Path::new("/dev/null"), root, root).unwrap(), Path::new("/dev/null"));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_refused_before_the_run() {
        assert!(check_writable(Path::new("/nonexistent/a.sched")).is_err());
        assert!(check_writable(Path::new("/")).is_err());
        assert!(check_writable(Path::new("a.sched")).is_ok());
    }

    #[test]
    fn a_bug_in_a_childs_recording_does_not_take_the_others_away() {
        let image = |pid| Image { pid, number: 0 };
        let mut order = Vec::new();
        let outcome = write_each(&[(image(5), ()), (image(7), ()), (image(8), ())], image(7), |image, ()| {
            order.push(image.pid);
            if image.pid == 5 {
                return Err(Failure::Bug("inconsistent".into()));
            }
            Ok(())
        });
        assert_eq!(order, [7, 5, 8]);
        assert!(matches!(outcome, Err(Failure::Bug(_))));
        let outcome = write_each(&[(image(5), ())], image(7), |_, ()| Err(Failure::bad("no head")));
        assert!(outcome.is_ok());
        let outcome = write_each(&[(image(5), ())], image(7), |_, ()| Err(Failure::Stopped(15)));
        assert!(matches!(outcome, Err(Failure::Stopped(15))));
    }
}
