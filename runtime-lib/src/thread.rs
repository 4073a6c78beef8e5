//! Threads: made, joined, detached, notified, ended.
//!
//! A create is recorded before it happens, and the child's clock starts from there: so the child is
//! never seen before its creation. A join takes over the child's last clock.

use crate::gate::{self, Event};
use crate::threads::{self, current, Thread};
use crate::{delay, real};
use core::sync::atomic::Ordering;
use covsched_core::hooks::Op;
use covsched_core::rawlog::NO_THREAD;
use covsched_core::{Clock, SiteId};
use libc::{c_int, c_ulong, c_void};

/// What a new thread runs first; `thrd_create`'s start function returns an int, in the same register.
unsafe extern "C" fn begin_thread(thread: *mut c_void) -> *mut c_void {
    // SAFETY: a descriptor prepared by create.
    let thread: &'static Thread = unsafe { &*thread.cast::<Thread>() };
    threads::begin_created(thread);
    let (start, argument) = thread.start.get();
    // SAFETY: what the program gave to pthread_create. In tail position: no frame of ours stays.
    unsafe {
        core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> *mut c_void>(start)(argument)
    }
}

/// Makes a thread. `real` gets the start function and argument; `result` makes an errno of what it returns.
///
/// # Safety
/// `pthread` points to the new thread's name when `real` has returned successfully.
pub unsafe fn create(
    op: Op,
    site: SiteId,
    pthread: *mut c_void,
    joinable: bool,
    (start, argument): (*mut c_void, *mut c_void),
    real: impl FnOnce(*mut c_void, *mut c_void) -> c_int,
    result: fn(c_int) -> c_int,
) -> c_int {
    let Some(thread) = current() else { return real(start, argument) };
    delay::point(thread);
    let number = threads::next_number();
    let (clock, slot) = gate::announced_alone(thread, Event::new(op, site, 0).extra(u64::from(number)));
    let Some(child) = threads::prepare(thread, number, clock, joinable) else {
        crate::meta::note_lost_records();
        return real(start, argument);
    };
    child.start.set((start, argument));
    let returned = real(begin_thread as *mut c_void, (child as *const Thread).cast_mut().cast());
    if result(returned) == 0 {
        thread.children.set(thread.children.get() + 1);
        // SAFETY: by the contract.
        unsafe { threads::created(child, number, pthread.cast::<c_ulong>()) };
    } else {
        threads::not_created(child);
    }
    gate::returned(thread, slot, result(returned));
    delay::point(thread);
    returned
}

/// Joins a thread, in any of the ways.
pub fn join(
    op: Op,
    site: SiteId,
    pthread: c_ulong,
    real: impl FnOnce() -> c_int,
    result: fn(c_int) -> c_int,
) -> c_int {
    let Some(thread) = current() else { return real() };
    delay::point(thread);
    let child = threads::find_to_join(pthread);
    let number = child.map_or(NO_THREAD, |child| child.number.get());
    let returned = real();
    let joined = result(returned) == 0;
    let floor = match child {
        Some(child) if joined => child.last_clock.load(Ordering::Acquire),
        _ => 0,
    };
    let event = Event::new(op, site, 0).extra(u64::from(number)).result(result(returned));
    gate::completed(thread, Clock(floor), event);
    if let Some(child) = child {
        threads::join_ended(child, joined);
    }
    delay::point(thread);
    returned
}

/// Does something to another thread: recorded before.
pub fn notify(
    op: Op,
    site: SiteId,
    pthread: c_ulong,
    real: impl FnOnce() -> c_int,
    result: fn(c_int) -> c_int,
) -> c_int {
    let Some(thread) = current() else { return real() };
    delay::point(thread);
    let number = threads::number_of(pthread);
    let (_, slot) = gate::announced_alone(thread, Event::new(op, site, 0).extra(u64::from(number)));
    let returned = real();
    gate::returned(thread, slot, result(returned));
    if op.effect() == covsched_core::hooks::Effect::Detach && result(returned) == 0 {
        threads::detached(pthread, number);
    }
    delay::point(thread);
    returned
}

/// The thread is about to end itself. Its `leave` is written at its real end, after all destructors.
pub fn note_exit(op: Op, site: SiteId) {
    if let Some(thread) = current() {
        delay::point(thread);
        thread.exit_site.set(site);
        gate::announced_alone(thread, Event::new(op, site, 0).result(0));
    }
}

fn same(returned: c_int) -> c_int {
    returned
}

pub unsafe fn pthread_create(
    thread: *mut c_void,
    attr: *mut c_void,
    start: *mut c_void,
    arg: *mut c_void,
    site: SiteId,
) -> c_int {
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    // SAFETY: the caller keeps the wrapped function's contract; so below.
    unsafe {
        if !attr.is_null() {
            pthread_attr_getdetachstate(attr, &mut state);
        }
        let joinable = state == libc::PTHREAD_CREATE_JOINABLE;
        let real = |start, arg| real::pthread_create(thread, attr, start, arg);
        create(Op::pthread_create, site, thread, joinable, (start, arg), real, same)
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attr: *const c_void, state: *mut c_int) -> c_int;
}

pub unsafe fn pthread_join(thread: c_ulong, value: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    join(Op::pthread_join, site, thread, || unsafe { real::pthread_join(thread, value) }, same)
}

pub unsafe fn pthread_tryjoin_np(thread: c_ulong, value: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    join(Op::pthread_tryjoin_np, site, thread, || unsafe { real::pthread_tryjoin_np(thread, value) }, same)
}

pub unsafe fn pthread_timedjoin_np(
    thread: c_ulong,
    value: *mut c_void,
    deadline: *mut c_void,
    site: SiteId,
) -> c_int {
    // SAFETY: as above.
    let real = || unsafe { real::pthread_timedjoin_np(thread, value, deadline) };
    join(Op::pthread_timedjoin_np, site, thread, real, same)
}

pub unsafe fn pthread_clockjoin_np(
    thread: c_ulong,
    value: *mut c_void,
    clock: c_int,
    deadline: *mut c_void,
    site: SiteId,
) -> c_int {
    // SAFETY: as above.
    let real = || unsafe { real::pthread_clockjoin_np(thread, value, clock, deadline) };
    join(Op::pthread_clockjoin_np, site, thread, real, same)
}

pub unsafe fn pthread_detach(thread: c_ulong, site: SiteId) -> c_int {
    // SAFETY: as above.
    notify(Op::pthread_detach, site, thread, || unsafe { real::pthread_detach(thread) }, same)
}

pub unsafe fn pthread_kill(thread: c_ulong, signal: c_int, site: SiteId) -> c_int {
    // SAFETY: as above.
    notify(Op::pthread_kill, site, thread, || unsafe { real::pthread_kill(thread, signal) }, same)
}

pub unsafe fn pthread_cancel(thread: c_ulong, site: SiteId) -> c_int {
    // SAFETY: as above.
    notify(Op::pthread_cancel, site, thread, || unsafe { real::pthread_cancel(thread) }, same)
}

pub unsafe fn pthread_exit(value: *mut c_void, site: SiteId) -> ! {
    note_exit(Op::pthread_exit, site);
    // SAFETY: as above.
    unsafe { real::pthread_exit(value) }
}
