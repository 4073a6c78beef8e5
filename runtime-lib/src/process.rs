//! The process: its end, from any thread, and fork.
//!
//! A forked child records to files of its own, from the thread that forked, its t0. A child made by vfork
//! shares the parent's memory: it ends itself without ending the parent's recording.
//!
//! Limit: a child made by `_Fork` or by the clone system call runs no fork handlers, and must not call hooks.

use crate::gate::{self, Event};
use crate::log::Own;
use crate::threads::{current, Thread};
use crate::{delay, enforce, epoch, exports, meta, parking, real, sys, threads};
use covsched_core::hooks::Op;
use covsched_core::SiteId;
use libc::c_int;

/// The signal mask across a fork; under the registry's lock.
static FORK_MASK: Own<Option<sys::SignalMask>> = Own::new(None);

/// At start: fork handlers. Registered before any other, so that ours run last before the fork and first after.
pub fn start() -> bool {
    PROCESS.set(sys::process_id());
    // SAFETY: handlers of the right type.
    unsafe { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0 }
}

unsafe extern "C" {
    fn pthread_atfork(
        before: unsafe extern "C" fn(),
        in_parent: unsafe extern "C" fn(),
        in_child: unsafe extern "C" fn(),
    ) -> c_int;
}

unsafe extern "C" fn before_fork() {
    // The thread that forks is known in the child then.
    let _ = current();
    let mask = sys::block_signals();
    threads::before_fork();
    FORK_MASK.set(Some(mask));
}

unsafe extern "C" fn after_fork_in_parent() {
    let mask = FORK_MASK.get();
    threads::after_fork_in_parent();
    mask.into_iter().for_each(sys::restore_signals);
}

unsafe extern "C" fn after_fork_in_child() {
    let mask = FORK_MASK.get();
    // Stays locked until the registry has been set right.
    let survivor = current();
    begin_again(survivor);
    mask.into_iter().for_each(sys::restore_signals);
}

fn begin_again(survivor: Option<&'static Thread>) {
    let parent = meta::recorded_process();
    enforce::after_fork_in_child(survivor);
    let number = survivor.map_or(0, |thread| thread.number.get());
    // Let go of the parent's files first, whatever comes.
    meta::abandon();
    parking::reset();
    threads::after_fork_in_child(survivor);
    epoch::after_fork_in_child(survivor);
    let is_recorded = exports::is_recording() && meta::begin(parent, number).is_ok();
    if !is_recorded && !exports::is_barrier() {
        // The child is not recorded; its hooks go back to doing nothing.
        threads::stop_recording_this_thread();
        // SAFETY: a forked child has one thread.
        unsafe { exports::set_active(false) };
        return;
    }
    // SAFETY: as above.
    unsafe { exports::set_recording(is_recorded) };
    PROCESS.set(sys::process_id());
    if is_recorded {
        meta::add_objects_again();
    }
    if let Some(thread) = survivor {
        threads::begin_as_main(thread);
    }
}

/// The process that the hooks work for.
static PROCESS: Own<u32> = Own::new(0);

/// Whether this is that process, not a vfork child of it.
fn is_own_process() -> bool {
    sys::process_id() == PROCESS.get()
}

/// After all exit handlers.
pub fn ended() {
    if is_own_process() {
        meta::note_complete();
    }
}

fn note_end(op: Op, status: c_int, site: SiteId, is_at_once: bool) {
    if !is_own_process() {
        return;
    }
    if let Some(thread) = current() {
        delay::point(thread);
        // A thread has one end: main may have returned, and an exit handler call exit again.
        if !thread.left.get() {
            thread.left.set(true);
            let event = Event::new(op, site, 0).result(status);
            let step = enforce::arrive(thread, event);
            gate::announced_alone(thread, event);
            if let Some(step) = step {
                // The status is the program's own affair.
                enforce::done(thread, step);
            }
        }
    }
    meta::note_status(status);
    if is_at_once {
        meta::note_complete();
    } else if let Some(thread) = current() {
        epoch::process_ends(thread);
    }
}

pub unsafe fn exit(status: c_int, site: SiteId) -> ! {
    // Complete only when the exit handlers are through: see crate::start.
    note_end(Op::exit, status, site, false);
    // SAFETY: the caller keeps the wrapped function's contract; so below.
    unsafe { real::exit(status) }
}

pub unsafe fn _exit(status: c_int, site: SiteId) -> ! {
    note_end(Op::_exit, status, site, true);
    // SAFETY: as above.
    unsafe { real::_exit(status) }
}

#[allow(non_snake_case)]
pub unsafe fn _Exit(status: c_int, site: SiteId) -> ! {
    note_end(Op::_Exit, status, site, true);
    // SAFETY: as above.
    unsafe { real::_Exit(status) }
}

pub unsafe fn quick_exit(status: c_int, site: SiteId) -> ! {
    // Its handlers run after this, but nothing of ours does after them.
    note_end(Op::quick_exit, status, site, true);
    // SAFETY: as above.
    unsafe { real::quick_exit(status) }
}
