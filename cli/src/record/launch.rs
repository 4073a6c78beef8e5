//! Runs the program as a shell would: the keyboard's signals reach it directly, those sent to covsched are
//! passed on, and covsched stays to write the schedule.

use super::Ended;
use crate::failure::Failure;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// The program; 0 before it is there and after it ended.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that came before the program was there.
static EARLY: AtomicI32 = AtomicI32::new(0);
/// Signals that were passed on: a bit each.
static PASSED_ON: AtomicU32 = AtomicU32::new(0);

/// Signals that end covsched if nobody handles them. The terminal sends the first two to the program too.
const SIGNALS: [libc::c_int; 7] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// Passes a signal on, unless the program has it from the terminal.
extern "C" fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
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

/// For one more of the signals that ended the program: timeout, for one, sends it to covsched and then to its whole
/// group, and the second must not cost the schedule.
extern "C" fn disregard(_: libc::c_int) {}

/// The handlers, while the program runs. Dropped, they give way to what was there before: covsched itself may be
/// interrupted while it writes a schedule.
struct Forwarding {
    before: Vec<(libc::c_int, libc::sigaction)>,
}

impl Forwarding {
    /// Installs the handlers, except for signals that are ignored (as nohup does). Unlike "ignore", a handler
    /// does not pass to the program.
    fn begin() -> Forwarding {
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
        Forwarding { before }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        let passed_on = PASSED_ON.load(Ordering::SeqCst);
        for (signal, old) in &self.before {
            let mut action = *old;
            if passed_on & (1 << signal) != 0 {
                action.sa_sigaction = disregard as *const () as usize;
                // After one signal the default is back.
                action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
            }
            // SAFETY: an action that sigaction itself gave, or with a handler of the right type that does nothing.
            unsafe { libc::sigaction(*signal, &action, std::ptr::null_mut()) };
        }
    }
}

/// Runs the program to its end.
pub fn run(app: &Path, name: &OsStr, arguments: &[OsString], options: &OsStr) -> Result<Ended, Failure> {
    let _forwarding = Forwarding::begin();
    let mut command = Command::new(app);
    command.arg0(name).args(arguments).env("COVSCHED_OPTIONS", options);
    let mut child =
        command.spawn().map_err(|error| Failure::bad(format!("cannot run {}: {error}", app.display())))?;
    let pid = child.id();
    CHILD.store(pid as i32, Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 {
        deliver(early);
    }
    let status =
        child.wait().map_err(|error| Failure::bad(format!("cannot wait for {}: {error}", app.display())));
    CHILD.store(0, Ordering::SeqCst);
    Ok(Ended { pid, status: status? })
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

    fn shell(script: &str) -> std::process::ExitStatus {
        let arguments = ["-c".into(), script.into()];
        run(Path::new("/bin/sh"), OsStr::new("sh"), &arguments, OsStr::new("")).unwrap().status
    }

    // One test, since signal handlers belong to the whole process.
    #[test]
    fn signals_reach_the_program_and_are_covscheds_own_again_after_the_run() {
        use std::os::unix::process::ExitStatusExt;
        let before = SIGNALS.map(action);
        assert_eq!(shell("exit 4").code(), Some(4));
        assert_eq!(SIGNALS.map(action), before);

        assert_eq!(shell("kill -USR1 $PPID; exec sleep 10").signal(), Some(libc::SIGUSR1));
        // A late copy of the signal does no harm, once.
        // SAFETY: raise has no preconditions.
        unsafe { libc::raise(libc::SIGUSR1) };
        assert_eq!(SIGNALS.map(action), before);
    }
}
