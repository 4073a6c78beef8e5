//! `--repeat`: the same run again and again, each with the same input; with `--check` under different delays, and
//! compared.

use super::check::Check;
use super::session::{Particular, Session};
use crate::failure::Failure;
use crate::program::launch::Launcher;
use crate::progress;
use crate::say::say;
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::process::ExitCode;

/// Runs so many times. Without a check, the exit code is that of the first run that did not succeed.
pub fn run(session: &mut Session<'_>, times: u32, check: bool) -> Result<ExitCode, Failure> {
    // Before signals are caught: whoever sees it wait for input may interrupt it.
    let input = if times > 1 { Input::take()? } else { Input::Own };
    let launcher = Launcher::begin();
    let folder = session.folder(None)?;
    let session = &*session;
    let progress = if check { progress::runs(times) } else { ProgressBar::hidden() };
    let say = |text: &str| progress.suspend(|| say(text));
    let mut check = check.then(|| Check::new(session, &folder));
    let mut failed = None;
    for number in 1..=times {
        if let Some(signal) = launcher.asked_to_end() {
            return Ok(ExitCode::from(128 + signal as u8));
        }
        let delay = delay_of(number, session.settings.delay, check.is_some());
        let mut particular =
            Particular { delay, stdin: input.open()?, say: Some(&say), ..Particular::default() };
        if let Some(check) = &mut check {
            particular.stdout = Some(check.prepare(number)?);
            particular.log = Some(check.log());
        }
        let outcome = session.run(&launcher, &folder, particular)?;
        if session.is_verbose() {
            say(&format!("covsched: {}: {}", run_words(number, times, delay), session.summary(&outcome)));
        }
        // What the user's own signal did to it is no difference.
        if let Some(signal) = launcher.asked_to_end() {
            return Ok(ExitCode::from(128 + signal as u8));
        }
        if let Some(check) = &mut check {
            if number == 1 {
                progress.suspend(|| check.print_first())?;
            }
            match check.compare(number, &outcome) {
                Ok(None) => {}
                Ok(Some(difference)) => {
                    progress.finish_and_clear();
                    let run = run_words(number, times, delay);
                    return Err(Failure::Found(format!("{run} {difference}")));
                }
                Err(failure) => {
                    if let Failure::Bug(_) = failure {
                        say(&format!("covsched: the raw recording is kept in {}", folder.keep().display()));
                    }
                    return Err(failure);
                }
            }
        } else if !outcome.ended.status.success() {
            failed.get_or_insert(outcome.ended.exit_code());
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    if check.is_some() {
        match times {
            1 => say("covsched: 1 run, the same schedule"),
            _ => say(&format!("covsched: {times} runs, all the same")),
        }
    }
    Ok(failed.unwrap_or(ExitCode::SUCCESS))
}

/// The seed of a run's delays. A check's first run has none, unless a seed was given.
fn delay_of(number: u32, first: Option<u64>, check: bool) -> Option<u64> {
    let later = u64::from(number - 1);
    match first {
        Some(seed) => Some(seed.wrapping_add(later)),
        None if check && number > 1 => Some(later),
        None => None,
    }
}

/// `run 7 of 50 (--delay 6)`: how to see it again.
fn run_words(number: u32, times: u32, delay: Option<u64>) -> String {
    match delay {
        Some(seed) => format!("run {number} of {times} (--delay {seed})"),
        None => format!("run {number} of {times}"),
    }
}

/// What each run reads.
enum Input {
    /// covsched's own standard input: a terminal, or a device such as /dev/null.
    Own,
    /// All that there was, in a file without a name.
    Copy(File),
}

impl Input {
    /// Reads standard input to its end, so that each run can have it.
    fn take() -> Result<Input, Failure> {
        let failed = |error: io::Error| Failure::bad(format!("standard input: {error}"));
        let mut stdin = io::stdin().lock();
        let is_device = File::open("/proc/self/fd/0")
            .and_then(|file| file.metadata())
            .map_or(true, |facts| facts.file_type().is_char_device());
        if stdin.is_terminal() || is_device {
            return Ok(Input::Own);
        }
        if !is_ready(stdin.as_raw_fd(), 2000) {
            say("covsched: waiting for the end of standard input, which each run will get (< /dev/null if the program \
                 reads none)");
        }
        let mut copy = tempfile::tempfile().map_err(failed)?;
        io::copy(&mut stdin, &mut copy).map_err(failed)?;
        Ok(Input::Copy(copy))
    }

    /// A file that begins at the beginning; `None`: the program may have covsched's own.
    fn open(&self) -> Result<Option<File>, Failure> {
        let Input::Copy(copy) = self else { return Ok(None) };
        // Opened anew, since a copied descriptor would share its position.
        let opened = File::open(format!("/proc/self/fd/{}", copy.as_raw_fd()));
        opened.map(Some).map_err(|error| Failure::bad(format!("standard input: {error}")))
    }
}

/// Whether something can be read within so many milliseconds.
fn is_ready(file: i32, milliseconds: i32) -> bool {
    let mut wanted = libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
    // SAFETY: one struct, as said.
    unsafe { libc::poll(&mut wanted, 1, milliseconds) != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_checks_first_run_has_no_delays_unless_asked_for() {
        let seeds = |first, check| [1, 2, 3].map(|number| delay_of(number, first, check));
        assert_eq!(seeds(None, true), [None, Some(1), Some(2)]);
        assert_eq!(seeds(Some(7), true), [Some(7), Some(8), Some(9)]);
        assert_eq!(seeds(None, false), [None; 3]);
        assert_eq!(seeds(Some(7), false), [Some(7), Some(8), Some(9)]);
        assert_eq!(run_words(2, 9, Some(1)), "run 2 of 9 (--delay 1)");
        assert_eq!(run_words(1, 9, None), "run 1 of 9");
    }

    #[test]
    fn every_run_reads_from_the_beginning() {
        let mut copy = tempfile::tempfile().unwrap();
        copy.write_all(b"input").unwrap();
        let input = Input::Copy(copy);
        for _ in 0..2 {
            let mut text = String::new();
            input.open().unwrap().unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "input");
        }
        assert!(Input::Own.open().unwrap().is_none());
    }
}
