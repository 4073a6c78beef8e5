//! Runs the program as a shell would: the keyboard's signals reach it directly, those sent to covsched are
//! passed on, and covsched stays to do what is left.

use super::Program;
use crate::failure::Failure;
use crate::names;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The program; 0 before it is there and after it ended.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that came before the program was there.
static EARLY: AtomicI32 = AtomicI32::new(0);
/// Signals that were passed on: a bit each.
static PASSED_ON: AtomicU32 = AtomicU32::new(0);
/// The last signal that asks for an end.
static ASKED_TO_END: AtomicI32 = AtomicI32::new(0);
/// Whether the last program has ended, so that signals are for covsched itself.
static IS_FINISHING: AtomicBool = AtomicBool::new(false);
/// A signal that came since then.
static STOP: AtomicI32 = AtomicI32::new(0);

/// Signals that end covsched if nobody handles them. The terminal sends the first two to the program too.
const SIGNALS: [libc::c_int; 7] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// Passes a signal on, unless the program has it from the terminal.
extern "C" fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if IS_FINISHING.load(Ordering::SeqCst) {
        return stop(signal);
    }
    if matches!(signal, libc::SIGINT | libc::SIGQUIT | libc::SIGTERM | libc::SIGHUP) {
        ASKED_TO_END.store(signal, Ordering::SeqCst);
    }
    // SAFETY: the kernel gives it to a handler that was installed with SA_SIGINFO.
    let sent_by_process = unsafe { (*info).si_code } <= libc::SI_USER;
    if sent_by_process || !matches!(signal, libc::SIGINT | libc::SIGQUIT) {
        deliver(signal);
    }
}

/// Sends a signal to the program, or keeps it until the program is there.
fn deliver(signal: libc::c_int) {
    match CHILD.load(Ordering::SeqCst) {
        0 => EARLY.store(signal, Ordering::SeqCst),
        child => {
            PASSED_ON.fetch_or(1 << signal, Ordering::SeqCst);
            // SAFETY: kill may be called in a signal handler; it changes nothing but errno, and the
            // interrupted call is wait, which std repeats.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Asks covsched itself to stop. Not for one more of the signals that ended the program: timeout, for one, sends it to
/// covsched and then to its whole group, and the second must not cost the schedule.
fn stop(signal: libc::c_int) {
    if PASSED_ON.fetch_and(!(1 << signal), Ordering::SeqCst) & (1 << signal) == 0 {
        STOP.store(signal, Ordering::SeqCst);
    }
}

/// One run of a program.
pub struct Call<'a> {
    app: &'a Path,
    name: &'a OsStr,
    arguments: &'a [OsString],
    options: &'a OsStr,
    /// Its standard input, if not covsched's own.
    pub stdin: Option<File>,
    /// Its standard output, if not covsched's own.
    pub stdout: Option<File>,
}

impl<'a> Call<'a> {
    /// A program with its arguments and `COVSCHED_OPTIONS`.
    pub fn new(program: &'a Program, arguments: &'a [OsString], options: &'a OsStr) -> Call<'a> {
        Call { app: program.path(), name: &program.name, arguments, options, stdin: None, stdout: None }
    }
}

/// The handlers, while programs run and until what is left to do is done: a covsched that is killed meanwhile would
/// leave its private folder. So a folder must be dropped before its launcher, which gives way to what was there before.
pub struct Launcher {
    before: Vec<(libc::c_int, libc::sigaction)>,
    /// Whether whoever started covsched ignores the ends of children. covsched itself must not: they would vanish
    /// before it can see how they ended. The program gets it as it was.
    ignores_children: bool,
}

impl Launcher {
    /// Installs the handlers, except for signals that are ignored (as nohup does). Unlike "ignore", a handler
    /// does not pass to the program.
    pub fn begin() -> Launcher {
        let mut before = Vec::new();
        for signal in SIGNALS {
            // SAFETY: all zeros is a value of these plain C structs; the handler is a function of the right
            // type that does only what is allowed in one.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut old);
                if old.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = forward as *const () as usize;
                new.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
                libc::sigaction(signal, &new, std::ptr::null_mut());
                before.push((signal, old));
            }
        }
        // SAFETY: as above, with the default action.
        let ignores_children = unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGCHLD, &std::mem::zeroed(), &mut old);
            before.push((libc::SIGCHLD, old));
            old.sa_sigaction == libc::SIG_IGN
        };
        Launcher { before, ignores_children }
    }

    /// The signal that asked covsched to end, if one did: no further program should be run then.
    pub fn asked_to_end(&self) -> Option<libc::c_int> {
        Some(ASKED_TO_END.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }

    /// No further program will be run: from here on, signals are for covsched itself, and [`Launcher::go_on`] says
    /// whether one came.
    pub fn finish(&self) {
        IS_FINISHING.store(true, Ordering::SeqCst);
        // It came when the program had just ended.
        let early = EARLY.swap(0, Ordering::SeqCst);
        if early != 0 {
            stop(early);
        }
    }

    /// Whether covsched may go on with what is left to do.
    pub fn go_on(&self) -> Result<(), Failure> {
        match STOP.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Failure::Stopped(signal)),
        }
    }

    /// Runs the program to its end.
    pub fn run(&self, call: Call<'_>) -> Result<Ended, Failure> {
        let mut command = Command::new(call.app);
        command.arg0(call.name).args(call.arguments).env("COVSCHED_OPTIONS", call.options);
        if let Some(stdin) = call.stdin {
            command.stdin(stdin);
        }
        if let Some(stdout) = call.stdout {
            command.stdout(stdout);
        }
        if self.ignores_children {
            // SAFETY: signal may be called between fork and exec.
            unsafe {
                command.pre_exec(|| {
                    libc::signal(libc::SIGCHLD, libc::SIG_IGN);
                    Ok(())
                });
            }
        }
        let app = call.app.display();
        let started = Instant::now();
        let mut child =
            command.spawn().map_err(|error| Failure::bad(format!("cannot run {app}: {error}")))?;
        let pid = child.id();
        CHILD.store(pid as i32, Ordering::SeqCst);
        let early = EARLY.swap(0, Ordering::SeqCst);
        if early != 0 {
            deliver(early);
        }
        let status = child.wait().map_err(|error| Failure::bad(format!("cannot wait for {app}: {error}")));
        let took = started.elapsed();
        CHILD.store(0, Ordering::SeqCst);
        Ok(Ended { pid, status: status?, took })
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        for (signal, old) in &self.before {
            // SAFETY: an action that sigaction itself gave.
            unsafe { libc::sigaction(*signal, old, std::ptr::null_mut()) };
        }
        for word in [&EARLY, &ASKED_TO_END, &STOP] {
            word.store(0, Ordering::SeqCst);
        }
        PASSED_ON.store(0, Ordering::SeqCst);
        IS_FINISHING.store(false, Ordering::SeqCst);
    }
}

/// How the program ended.
pub struct Ended {
    pub pid: u32,
    pub status: ExitStatus,
    /// From its start to its end.
    pub took: Duration,
}

impl Ended {
    /// `was killed by signal 9 (SIGKILL)`, `exited with status 1`.
    pub fn how(&self) -> String {
        match (self.status.signal(), self.status.code()) {
            (Some(signal), _) => format!("was killed by {}", names::signal(signal)),
            (None, code) => format!("exited with status {}", code.unwrap_or_default()),
        }
    }

    /// Why a recording does not have the end.
    pub fn unseen_end(&self) -> String {
        match (self.status.signal(), self.status.code()) {
            (Some(signal), _) => format!("killed by {}", names::signal(signal)),
            (None, code) => format!(
                "it became another program by exec, or ended outside of what covsched sees, with status {}",
                code.unwrap_or_default()
            ),
        }
    }

    /// As a shell gives it.
    pub fn exit_code(&self) -> ExitCode {
        let code = self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or_default());
        ExitCode::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(signal: libc::c_int) -> usize {
        // SAFETY: all zeros is a value of this plain C struct, and a null action only asks.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut now);
            now.sa_sigaction
        }
    }

    fn shell(launcher: &Launcher, script: &str) -> ExitStatus {
        let (arguments, empty) = (["-c".into(), script.into()], OsStr::new(""));
        let app = Path::new("/bin/sh");
        let call = Call {
            app,
            name: app.as_os_str(),
            arguments: &arguments,
            options: empty,
            stdin: None,
            stdout: None,
        };
        launcher.run(call).unwrap().status
    }

    fn raise(signal: libc::c_int) {
        // SAFETY: raise has no preconditions.
        unsafe { libc::raise(signal) };
    }

    // One test, since signal handlers belong to the whole process.
    #[test]
    fn signals_reach_the_program_then_covsched_and_are_as_before_in_the_end() {
        let before = SIGNALS.map(action);
        let launcher = Launcher::begin();
        assert_eq!(shell(&launcher, "exit 4").code(), Some(4));
        launcher.finish();
        assert!(launcher.go_on().is_ok());
        raise(libc::SIGTERM);
        assert!(matches!(launcher.go_on(), Err(Failure::Stopped(libc::SIGTERM))));
        drop(launcher);
        assert_eq!(SIGNALS.map(action), before);

        let launcher = Launcher::begin();
        assert_eq!(shell(&launcher, "kill -USR1 $PPID; exec sleep 10").signal(), Some(libc::SIGUSR1));
        launcher.finish();
        // A late copy of the signal does no harm, once.
        raise(libc::SIGUSR1);
        assert!(launcher.go_on().is_ok());
        raise(libc::SIGUSR1);
        assert!(matches!(launcher.go_on(), Err(Failure::Stopped(libc::SIGUSR1))));
        drop(launcher);
        assert_eq!(SIGNALS.map(action), before);

        // One that came right after the program's end. (Not SIGHUP, which nohup has ignored.)
        let launcher = Launcher::begin();
        assert_eq!(shell(&launcher, "exit 0").code(), Some(0));
        raise(libc::SIGTERM);
        assert_eq!(launcher.asked_to_end(), Some(libc::SIGTERM));
        launcher.finish();
        assert!(matches!(launcher.go_on(), Err(Failure::Stopped(libc::SIGTERM))));
    }
}
