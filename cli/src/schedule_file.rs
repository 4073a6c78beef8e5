//! `.sched` files on disk: read from a path or standard input, written beside their place and then renamed.

use crate::failure::Failure;
use covsched_core::schedule::{parse, text, verify, Fault, Schedule};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// A schedule and where it came from.
pub struct ScheduleFile {
    pub name: String,
    pub schedule: Schedule,
    lines: parse::EventLines,
}

impl ScheduleFile {
    /// Reads a file, or standard input if the path is `-`.
    pub fn read(path: &Path) -> Result<ScheduleFile, Failure> {
        let (name, bytes) = if path == Path::new("-") {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            ("standard input".to_owned(), read.map(|_| bytes))
        } else {
            (path.display().to_string(), fs::read(path))
        };
        let bytes = bytes.map_err(|error| Failure::bad(format!("{name}: {error}")))?;
        let (schedule, lines) = parse::parse_bytes(&bytes)
            .map_err(|error| Failure::bad(format!("{name}:{}: {}", error.line, error.what)))?;
        Ok(ScheduleFile { name, schedule, lines })
    }

    /// Reads a file and refuses one that is not well-formed.
    pub fn read_verified(path: &Path) -> Result<ScheduleFile, Failure> {
        let file = ScheduleFile::read(path)?;
        verify::verify(&file.schedule).map_err(|fault| Failure::bad(file.describe(&fault)))?;
        Ok(file)
    }

    /// A fault with the file's name and line.
    pub fn describe(&self, fault: &Fault) -> String {
        match fault.seq.and_then(|seq| self.lines.line(seq)) {
            Some(line) => format!("{}:{line}: {fault}", self.name),
            None => format!("{}: {fault}", self.name),
        }
    }
}

/// Asked again and again: an error says why not.
pub type GoOn<'a> = &'a dyn Fn() -> Result<(), Failure>;

/// Writes a schedule to its place: readers see the old file or the new one, never half of one.
pub fn write(schedule: &Schedule, path: &Path, go_on: GoOn<'_>) -> Result<(), Failure> {
    let failed = |error: io::Error| match (go_on(), error.kind()) {
        (Err(failure), _) => failure,
        (_, io::ErrorKind::InvalidInput) => {
            Failure::Bug(format!("a schedule that cannot be written: {error}"))
        }
        _ => Failure::file(path, &error),
    };
    replace(path, |file| write_all(schedule, Stoppable { file, go_on })).map_err(failed)
}

/// Writes a file to its place: readers see the old one or the new one, never half of one.
pub fn replace(path: &Path, write: impl Fn(File) -> io::Result<()>) -> io::Result<()> {
    if is_special(path) {
        return File::options().write(true).open(path).and_then(write);
    }
    // What a link names is replaced, not the link.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let temporary = temporary_beside(&place);
    let written = File::create(&temporary).and_then(write);
    written.and_then(|()| fs::rename(&temporary, &place)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// Whether it is there and no regular file: a device or pipe, which cannot be replaced by a file and has no
/// place beside it.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

/// A file that takes nothing more once covsched is to stop.
struct Stoppable<'a> {
    file: File,
    go_on: GoOn<'a>,
}

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.go_on)().map_err(io::Error::other)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn write_all(schedule: &Schedule, file: Stoppable<'_>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    text::write(schedule, &mut out)?;
    out.flush()
}

fn temporary_beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::schedule::Completeness;

    fn schedule() -> Schedule {
        let text = "covsched-schedule 1\nprogram \"a\" 0000000000000000\ncommand \"a\"\ncomplete\n\
                    thread t0 main\nevents 1\nt0 entry\nend\n";
        parse::parse(text).unwrap()
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sched");
        fs::write(&path, "old").unwrap();
        let stopped = write(&schedule(), &path, &|| Err(Failure::Stopped(15)));
        assert!(matches!(stopped, Err(Failure::Stopped(15))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        write(&schedule(), &path, &|| Ok(())).unwrap();
        assert_eq!(ScheduleFile::read_verified(&path).unwrap().schedule.completeness, Completeness::Complete);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(&schedule(), &folder.path().join("missing/a.sched"), &|| Ok(())).is_err());
        write(&schedule(), Path::new("/dev/null"), &|| Ok(())).unwrap();
    }

    #[test]
    fn a_link_stays_and_what_it_names_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file.sched"), folder.path().join("link.sched"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file.sched", &link).unwrap();
        write(&schedule(), &link, &|| Ok(())).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(ScheduleFile::read_verified(&file).is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn errors_name_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.sched");
        fs::write(&path, "covsched-schedule 1\nnonsense\n").unwrap();
        let error = ScheduleFile::read(&path).err().unwrap().to_string();
        assert!(error.contains("b.sched:2: unknown line `nonsense`"), "{error}");
        fs::write(&path, text::to_text(&schedule()).unwrap().replace("t0 entry", "t0 pthread_mutex_lock"))
            .unwrap();
        let error = ScheduleFile::read_verified(&path).err().unwrap().to_string();
        assert!(error.contains("b.sched:7: event 1: pthread_mutex_lock has no object"), "{error}");
    }
}
