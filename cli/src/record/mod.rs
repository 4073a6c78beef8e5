//! `covsched record`: runs a program in record mode and writes the schedule of the run.
//!
//! The program keeps its input, output, exit code and signals: [`launch`]. The runtime in it writes a raw
//! recording into a folder, which is then turned into one schedule for each process that recorded:
//! `FILE.sched` for the program, `FILE.PID.sched` for a forked child, with `-N` behind the PID for what the
//! process became by the Nth exec. Where FILE is a device or pipe there is only the program's own.

mod launch;
mod options;
mod raw_folder;
mod symbols;

use crate::elf::{self, Binary};
use crate::failure::Failure;
use crate::{names, schedule_file};
use covsched_core::schedule::assemble::assemble;
use covsched_core::schedule::recording::{images, Image, Recording};
use covsched_core::schedule::Completeness;
use indicatif::ProgressBar;
use raw_folder::RawFolder;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

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
    let app = find_program(name)?;
    let binary = Binary::read(&app)?;
    let program = {
        let file = binary.parse()?;
        let tables = elf::site_tables(&app, &file)?;
        if !elf::has_runtime(&file) {
            return Err(Failure::bad(format!(
                "{}: was compiled with covsched, but linked without its runtime. Link it with `covsched cc`, or add \
                 libcovsched_rt.a and -Wl,--export-dynamic-symbol='covsched_*'",
                app.display()
            )));
        }
        tables.program
    };
    let output = arguments.output.clone().unwrap_or_else(|| default_output(&app));
    check_writable(&output)?;
    let folder = RawFolder::make(arguments.raw_dir.as_deref(), &output)?;
    let user = std::env::var_os("COVSCHED_OPTIONS").unwrap_or_default();
    let options = options::for_recording(&user, folder.path(), program, arguments.delay)?;

    let ended = launch::run(&app, name, rest, &options)?;

    let found = images(folder.path()).map_err(|error| Failure::bad(error.to_string()))?;
    let root = Image { pid: ended.pid, number: 0 };
    if !found.iter().any(|(image, _)| *image == root) {
        return Err(Failure::bad(format!(
            "{}: the program {} and wrote no recording: it ended before covsched's runtime began, or the runtime \
             could not write to {}",
            app.display(),
            ended.how(),
            folder.path().display()
        )));
    }
    let written = write_each(&found, root, |image, logs| {
        let last = !found.iter().any(|(other, _)| other.pid == image.pid && other.number > image.number);
        let how = match (last, image.pid == root.pid) {
            (false, _) => "it became another program by exec".to_owned(),
            (true, true) => ended.unseen_end(),
            (true, false) if is_running(image.pid) => {
                "it was still running when its parent had ended".to_owned()
            }
            (true, false) => "it ended in a way that covsched did not see".to_owned(),
        };
        let Some(place) = output_for(&output, image, root) else {
            eprintln!(
                "covsched: process {}: its schedule is not written, since {} is no regular file",
                image.pid,
                output.display()
            );
            return Ok(());
        };
        write_schedule(&folder, image, logs, &binary, name, &how, &place)
    });
    // What went wrong can be found only with the recording.
    if let Err(Failure::Bug(_)) = written {
        eprintln!("covsched: the raw recording is kept in {}", folder.keep().display());
    }
    written.map(|()| ended.exit_code())
}

/// Writes the schedule of each process, the program's own first. A bug that one recording shows does not take the
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
                    eprintln!("covsched: {earlier}");
                }
            }
            Err(failure) if *image == root => return Err(failure),
            // A child may have been killed before its recording had a head.
            Err(failure) => eprintln!("covsched: process {}: {failure}", image.pid),
        }
    }
    bug.map_or(Ok(()), Err)
}

/// Turns one image's recording into its schedule.
fn write_schedule(
    folder: &RawFolder,
    image: Image,
    logs: &[u32],
    binary: &Binary,
    name: &OsStr,
    how: &str,
    place: &Path,
) -> Result<(), Failure> {
    let progress = show_progress(place);
    let recording =
        Recording::read(folder.path(), image, logs).map_err(|error| Failure::bad(error.to_string()))?;
    let symbols = symbols::Variables::of(&recording, binary);
    let program = name.to_string_lossy();
    let schedule = assemble(recording, &program, &symbols, how).map_err(|fault| {
        Failure::Bug(format!("the recording of process {} is inconsistent: {fault}", image.pid))
    })?;
    schedule_file::write(&schedule, place)?;
    progress.finish_and_clear();
    match &schedule.completeness {
        Completeness::Incomplete(reason) => {
            eprintln!("covsched: {} is incomplete: {reason}", place.display());
        }
        Completeness::Complete if std::io::stderr().is_terminal() => {
            let (events, threads) = (schedule.events.len(), schedule.threads.len());
            eprintln!("covsched: wrote {} ({events} events of {threads} threads)", place.display());
        }
        Completeness::Complete => {}
    }
    Ok(())
}

/// Millions of events take seconds: a sign of life on a terminal, nothing in a pipe.
fn show_progress(place: &Path) -> ProgressBar {
    let progress = ProgressBar::new_spinner().with_message(format!("writing {}", place.display()));
    progress.enable_steady_tick(Duration::from_millis(150));
    progress
}

/// The program's file: through PATH if its name has no slash, as a shell would.
fn find_program(name: &OsStr) -> Result<PathBuf, Failure> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    search(&path, name).ok_or_else(|| {
        let name = name.to_string_lossy();
        let hint =
            if Path::new(&*name).exists() { format!("; did you mean ./{name}?") } else { String::new() };
        Failure::bad(format!("{name}: No such file in PATH{hint}"))
    })
}

/// The first file of this name in a list of folders that may be executed.
fn search(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).map(|folder| folder.join(name)).find(is_program)
}

fn default_output(app: &Path) -> PathBuf {
    let mut name = app.file_name().unwrap_or_default().to_owned();
    name.push(".sched");
    PathBuf::from(name)
}

/// Before the program runs: a run cannot be had again.
fn check_writable(output: &Path) -> Result<(), Failure> {
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

/// How the program ended.
pub(crate) struct Ended {
    pid: u32,
    status: std::process::ExitStatus,
}

impl Ended {
    fn how(&self) -> String {
        use std::os::unix::process::ExitStatusExt;
        match (self.status.signal(), self.status.code()) {
            (Some(signal), _) => format!("was killed by {}", names::signal(signal)),
            (None, code) => format!("exited with status {}", code.unwrap_or_default()),
        }
    }

    /// Why the recording does not have the end.
    fn unseen_end(&self) -> String {
        use std::os::unix::process::ExitStatusExt;
        match (self.status.signal(), self.status.code()) {
            (Some(signal), _) => format!("killed by {}", names::signal(signal)),
            (None, code) => format!(
                "it became another program by exec, or ended outside of what covsched sees, with status {}",
                code.unwrap_or_default()
            ),
        }
    }

    /// As a shell gives it.
    fn exit_code(&self) -> ExitCode {
        use std::os::unix::process::ExitStatusExt;
        let code = self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or_default());
        ExitCode::from(code as u8)
    }
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
        assert_eq!(default_output(Path::new("../x/app.v2")), Path::new("app.v2.sched"));
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
    }

    #[test]
    fn a_file_that_cannot_be_executed_is_passed_over() {
        use std::os::unix::fs::PermissionsExt;
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (folder, mode) in folders.iter().zip([0o644, 0o755]) {
            let file = folder.path().join("app");
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths(folders.iter().map(|folder| folder.path())).unwrap();
        assert_eq!(search(&path, OsStr::new("app")), Some(folders[1].path().join("app")));
    }

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert!(find_program(OsStr::new("sh")).unwrap().is_absolute());
        assert_eq!(find_program(OsStr::new("./app")).unwrap(), Path::new("./app"));
        assert!(find_program(OsStr::new("no-such-program"))
            .unwrap_err()
            .to_string()
            .contains("No such file"));
    }
}
