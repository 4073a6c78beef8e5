//! `--check`: is a run as the first one, and as the schedule says? Standard output and the end are compared with the
//! first run's, what it recorded with the schedule. The first run's output is also printed.

use super::session::{Outcome, Session};
use crate::failure::Failure;
use crate::names::demangle_all;
use crate::program::private_folder::PrivateFolder;
use crate::program::recorded::Recorded;
use covsched_core::schedule::compare::{compare, compare_steps};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// The longest part of a line that is shown.
const SHOWN: usize = 60;

/// The first run, and where the current one writes.
pub struct Check<'a> {
    session: &'a Session<'a>,
    /// How the first run ended, in words.
    first: Option<String>,
    first_output: PathBuf,
    output: PathBuf,
    log: PathBuf,
}

impl<'a> Check<'a> {
    /// In a folder that outlives it.
    pub fn new(session: &'a Session<'a>, folder: &PrivateFolder) -> Check<'a> {
        let place = |name: &str| folder.path().join(name);
        Check {
            session,
            first: None,
            first_output: place("first-output"),
            output: place("output"),
            log: place("log"),
        }
    }

    /// Makes room for a run; gives its standard output.
    pub fn prepare(&self, number: u32) -> Result<File, Failure> {
        let output = if number == 1 { &self.first_output } else { &self.output };
        fs::create_dir(&self.log).map_err(|error| Failure::file(&self.log, &error))?;
        let _ = fs::remove_file(output);
        // Forked processes may write to it at the same time.
        let opened = File::options().append(true).create(true).open(output);
        opened.map_err(|error| Failure::file(output, &error))
    }

    /// Where a run records.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Prints what the first run printed.
    pub fn print_first(&self) -> Result<(), Failure> {
        let mut output = open(&self.first_output)?;
        let printed = io::copy(&mut output, &mut io::stdout().lock()).and_then(|_| io::stdout().flush());
        match printed.map_err(Failure::output) {
            // Who reads it may have seen enough; the check goes on.
            Err(Failure::BrokenPipe) => Ok(()),
            printed => printed,
        }
    }

    /// How this run differs, in words that follow "run 2".
    pub fn compare(&mut self, number: u32, outcome: &Outcome) -> Result<Option<String>, Failure> {
        if outcome.divergences > 0 {
            return Ok(Some("left the schedule".to_owned()));
        }
        let how = outcome.ended.how();
        let first = self.first.get_or_insert_with(|| how.clone());
        if *first != how {
            return Ok(Some(format!("{how}; run 1 {first}")));
        }
        if number > 1 {
            let [first, this] = [&self.first_output, &self.output].map(|path| open(path));
            let difference = first_difference(first?, this?)
                .map_err(|error| Failure::bad(format!("cannot compare what was printed: {error}")))?;
            if let Some((line, first, this)) = difference {
                return Ok(Some(format!("has other output in line {line}: {this}; run 1: {first}")));
            }
        }
        let recorded = Recorded::find(self.session.program, &self.log, &outcome.ended)?.schedule()?;
        fs::remove_dir_all(&self.log).map_err(|error| Failure::file(&self.log, &error))?;
        let compare = if self.session.leaves_out { compare_steps } else { compare };
        let same = compare(&self.session.file.schedule, &recorded, self.session.order);
        let words = |difference| demangle_all(&format!("has another schedule: {difference}"));
        Ok(same.err().map(words))
    }
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    File::open(path).map(BufReader::new).map_err(|error| Failure::file(path, &error))
}

/// The first line that two texts do not share: its number, and what each has there.
fn first_difference(
    mut first: impl BufRead,
    mut second: impl BufRead,
) -> io::Result<Option<(u64, String, String)>> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for line in 1.. {
        a.clear();
        b.clear();
        let ends = [first.read_until(b'\n', &mut a)?, second.read_until(b'\n', &mut b)?];
        if a != b {
            return Ok(Some((line, shown(&a), shown(&b))));
        }
        if ends == [0, 0] {
            break;
        }
    }
    Ok(None)
}

/// A line for people: quoted, not too long, and "nothing" past the end.
fn shown(line: &[u8]) -> String {
    if line.is_empty() {
        return "nothing".to_owned();
    }
    let text = String::from_utf8_lossy(line);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("..");
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(first: &str, second: &str) -> Option<(u64, String, String)> {
        first_difference(first.as_bytes(), second.as_bytes()).unwrap()
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(difference("", ""), None);
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n"), Some((2, "`b`".into(), "`c`".into())));
        assert_eq!(difference("a\n", "a\nb"), Some((2, "nothing".into(), "`b`".into())));
        assert_eq!(difference("\n", ""), Some((1, "``".into(), "nothing".into())));
    }

    #[test]
    fn long_and_strange_lines_are_made_readable() {
        assert_eq!(shown(b"a\x1b[0m\xff\n"), "`a\\u{1b}[0m\u{fffd}`");
        let long = shown("x".repeat(100).as_bytes());
        assert_eq!(long, format!("`{}..`", "x".repeat(60)));
    }
}
