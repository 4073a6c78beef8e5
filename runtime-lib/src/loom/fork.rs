//! Fork: the child has one thread, and nothing is pending. Filters stay installed; what vanished threads held is
//! released; the child has an engine of its own if the parent had one.
//!
//! Children made by vfork and posix_spawn run no handlers, share the parent's memory and touch nothing here.

use super::heir::Heir;
use super::latch::{self, Latch};
use super::{alone, engine, members, protocol, units, update, words, CONTROL};
use crate::log::Own;
use crate::{real, sys};
use core::sync::atomic::Ordering;
use covsched_core::loom::abi::LOCATION_LASTING;
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

/// Locks in the order in which everybody takes them.
unsafe extern "C" fn before_fork() {
    let mask = sys::block_signals();
    update::acquire_round();
    members::before_fork();
    CONTROL.acquire();
    units::before_fork();
    MASK.set(Some(mask));
}

unsafe extern "C" fn after_fork_in_parent() {
    let mask = MASK.get();
    units::after_fork_in_parent();
    CONTROL.release();
    members::after_fork_in_parent();
    update::ROUND.release();
    mask.into_iter().for_each(sys::restore_signals);
}

unsafe extern "C" fn after_fork_in_child() {
    let errno = real::errno();
    let mask = MASK.get();
    units::after_fork_in_child();
    CONTROL.reset();
    update::after_fork_in_child();
    words::PENDING.fetch_and(protocol::FENCES, Ordering::Relaxed);
    units::set_waiting(false);
    // An update has its marks there.
    // SAFETY: registered units.
    units::for_each(|unit| unsafe {
        units::locations(unit).iter().for_each(|byte| {
            byte.fetch_and(LOCATION_LASTING, Ordering::Relaxed);
        });
    });
    alone::after_fork_in_child();
    engine::reset_filters();
    members::after_fork_in_child();
    engine::start_in_child();
    mask.into_iter().for_each(sys::restore_signals);
    real::set_errno(errno);
}

/// In the child, where only the thread with this number is: the lock is that thread's, or free, and nobody waits for it.
pub fn reset_latch(latch: &Latch, survivor: u32) {
    let is_survivors = latch::owner(latch.word.load(Ordering::Relaxed)) == survivor;
    latch.word.store(if is_survivors { survivor } else { 0 }, Ordering::Relaxed);
    reset_heir(&latch.heir);
}

/// In the child: whoever it was is not there.
pub fn reset_heir(heir: &Heir) {
    heir.0.store(0, Ordering::Relaxed);
}
