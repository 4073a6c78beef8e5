//! Fork: the child has one thread, and nothing is pending.

use super::{members, protocol, units, words, CONTROL};
use crate::log::Own;
use crate::sys;
use core::sync::atomic::Ordering;
use libc::c_int;

/// The signal mask across a fork; under the locks.
static MASK: Own<Option<sys::SignalMask>> = Own::new(None);

unsafe extern "C" {
    fn pthread_atfork(
        before: unsafe extern "C" fn(),
        in_parent: unsafe extern "C" fn(),
        in_child: unsafe extern "C" fn(),
    ) -> c_int;
}

/// With the first thread that becomes known.
pub fn start() {
    // SAFETY: handlers of the right type. Without memory for them a child is not controlled.
    let _ = unsafe { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) };
}

unsafe extern "C" fn before_fork() {
    let mask = sys::block_signals();
    CONTROL.acquire();
    members::before_fork();
    units::before_fork();
    MASK.set(Some(mask));
}

unsafe extern "C" fn after_fork_in_parent() {
    let mask = MASK.get();
    units::after_fork_in_parent();
    members::after_fork_in_parent();
    CONTROL.release();
    mask.into_iter().for_each(sys::restore_signals);
}

unsafe extern "C" fn after_fork_in_child() {
    let mask = MASK.get();
    units::after_fork_in_child();
    words::PENDING.fetch_and(protocol::FENCES, Ordering::Relaxed);
    units::set_waiting(false);
    members::after_fork_in_child();
    CONTROL.reset();
    mask.into_iter().for_each(sys::restore_signals);
}
