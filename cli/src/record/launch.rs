//! Runs the program as a shell would: the keyboard's signals reach it directly, those sent to covsched are
//! passed on, and covsched stays to write the schedule.

use super::Ended;
use crate::failure::Failure;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

/// The program; 0 before it is there and after it ended.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that came before the program was there.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Passes a signal on.
extern "C" fn forward(signal: libc::c_int) {
    match CHILD.load(Ordering::SeqCst) {
        0 => EARLY.store(signal, Ordering::SeqCst),
        child => {
            // SAFETY: kill may be called in a signal handler; it changes nothing but errno, and the
            // interrupted call is wait, which std repeats.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// The terminal sends these to the program too.
extern "C" fn leave_to_program(_: libc::c_int) {}

/// Installs a handler, unless the signal is ignored (as nohup does). Unlike "ignore", a handler does not pass to
/// the program.
fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: all zeros is a value of these plain C structs; the handler is a function of the right type
    // that does only what is allowed in one.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut old);
        if old.sa_sigaction == libc::SIG_IGN {
            return;
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler as usize;
        new.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &new, std::ptr::null_mut());
    }
}

/// Runs the program to its end.
pub fn run(app: &Path, name: &OsStr, arguments: &[OsString], options: &OsStr) -> Result<Ended, Failure> {
    handle(libc::SIGINT, leave_to_program);
    handle(libc::SIGQUIT, leave_to_program);
    handle(libc::SIGTERM, forward);
    handle(libc::SIGHUP, forward);
    let mut command = Command::new(app);
    command.arg0(name).args(arguments).env("COVSCHED_OPTIONS", options);
    let mut child =
        command.spawn().map_err(|error| Failure::bad(format!("cannot run {}: {error}", app.display())))?;
    let pid = child.id();
    CHILD.store(pid as i32, Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 {
        forward(early);
    }
    let status =
        child.wait().map_err(|error| Failure::bad(format!("cannot wait for {}: {error}", app.display())));
    CHILD.store(0, Ordering::SeqCst);
    Ok(Ended { pid, status: status? })
}
