//! Threads: made, joined, detached, notified, ended.
//!
//! A create is recorded before it happens, and the child's clock starts from there: so the child is
//! never seen before its creation. A join takes over the child's last clock.

use crate::enforce::{self, turn, Turn};
use crate::gate::{self, Event};
use crate::hook::{pthread_setcancelstate, PTHREAD_CANCEL_DISABLE};
use crate::loom::birth;
use crate::threads::{self, current, Thread};
use crate::{delay, epoch, exports, guard, real, sys};
use core::sync::atomic::Ordering;
use covsched_core::hooks::Op;
use covsched_core::plan::{DivergenceKind, NONE};
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
    let event = Event::new(op, site, 0).extra(u64::from(number));
    let step = enforce::arrive(thread, event);
    let (clock, slot) = gate::announced_alone(thread, event);
    let Some(child) = threads::prepare(thread, number, clock, joinable, step) else {
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
    if let Some(step) = step {
        enforce::done_with(thread, step, event.result(result(returned)));
    }
    delay::point(thread);
    returned
}

/// A join, in any of the ways.
pub struct Join<Real, Slice> {
    pub op: Op,
    pub site: SiteId,
    pub pthread: c_ulong,
    pub deadline: Option<(c_int, *mut c_void)>,
    /// The call itself.
    pub real: Real,
    /// Waits for up to so many milliseconds: what came of it as an errno, `None` if the thread still runs.
    pub slice: Slice,
    /// What the call returned, as an errno.
    pub result: fn(c_int) -> c_int,
    /// And back.
    pub returns: fn(c_int) -> c_int,
}

/// Waits for the end of a thread for up to so many milliseconds. Not a cancellation point.
///
/// # Safety
/// As pthread_join.
pub unsafe fn join_slice(pthread: c_ulong, value: *mut c_void, milliseconds: u64) -> Option<c_int> {
    let mut until = sys::realtime_in(milliseconds);
    let mut state = 0;
    // SAFETY: by the contract; a time of ours.
    let result = unsafe {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut state);
        let result = real::pthread_timedjoin_np(pthread, value, (&raw mut until).cast());
        pthread_setcancelstate(state, core::ptr::null_mut());
        result
    };
    Some(result).filter(|&result| !matches!(result, libc::ETIMEDOUT | libc::EBUSY))
}

/// Joins a thread.
pub fn join<Real, Slice>(call: Join<Real, Slice>) -> c_int
where
    Real: FnOnce() -> c_int,
    Slice: Fn(u64) -> Option<c_int>,
{
    let Join { op, site, pthread, deadline, real, slice, result, returns } = call;
    let Some(thread) = current() else { return real() };
    delay::point(thread);
    let child = threads::find_to_join(pthread);
    let number = child.map_or(NO_THREAD, |child| child.number.get());
    let event = Event::new(op, site, 0).extra(u64::from(number));
    let turn = enforce::arrive_where_cancelled(thread, event);
    let in_plan = child.map_or(NONE, |child| child.follower.number());
    let step = match turn {
        Turn::Step(step) => enforce::is_thread(thread, step, &event, in_plan).then_some(step),
        _ => None,
    };
    // One of code without hooks, before its first hook, is taken for the one that the plan joins.
    let target = if in_plan == NONE { step.map_or(NONE, |step| step.aux) } else { in_plan };
    // SAFETY: the program's deadline.
    let is_past = || deadline.is_some_and(|(clock, at)| unsafe { sys::is_past(clock, at.cast()) });
    let outcome = match step.map(|step| step.result) {
        // Whom the plan joins has returned, and will end: the deadline does not count.
        Some(0) => {
            let gives_up = || (target == NONE && is_past()).then_some(libc::ETIMEDOUT);
            turn::wait_outside(thread, slice, || target, gives_up)
        }
        Some(libc::EBUSY) => Some(libc::EBUSY),
        Some(libc::ETIMEDOUT) => match deadline {
            // SAFETY: as above.
            Some((clock, at)) if !unsafe { turn::sleep_until(thread, clock, at) } => None,
            _ => Some(libc::ETIMEDOUT),
        },
        _ => None,
    };
    let returned = match outcome {
        Some(result) => returns(result),
        None if exports::is_barrier() && op != Op::pthread_tryjoin_np => {
            join_in_epoch(thread, child, site, real)
        }
        None => real(),
    };
    let joined = result(returned) == 0;
    let floor = match child {
        Some(child) if joined => child.last_clock.load(Ordering::Acquire),
        _ => 0,
    };
    let event = event.result(result(returned));
    gate::completed(thread, Clock(floor), event);
    match (turn, step) {
        (_, Some(step)) => enforce::done_with(thread, step, event),
        // It should have been cancelled in there.
        (Turn::Vanishes, None) => enforce::divergence::found(thread, DivergenceKind::OtherOperation, &event),
        _ => (),
    }
    if let Some(child) = child {
        threads::join_ended(child, joined);
    }
    delay::point(thread);
    returned
}

/// Joins with `epochs=barrier`: the thread that ends counts who joins it as running. One that takes no part does
/// not.
fn join_in_epoch(
    thread: &Thread,
    child: Option<&'static Thread>,
    site: SiteId,
    real: impl FnOnce() -> c_int,
) -> c_int {
    struct Waiting<Real> {
        child: &'static Thread,
        real: Option<Real>,
    }
    unsafe extern "C" fn call<Real: FnOnce() -> c_int>(waiting: *mut c_void) -> c_int {
        // SAFETY: as given below.
        let real = unsafe { (*waiting.cast::<Waiting<Real>>()).real.take() };
        real.map_or(0, |real| real())
    }
    unsafe fn unwound<Real>(thread: &Thread, waiting: *mut c_void) {
        // SAFETY: as given below; its frame is still there.
        threads::unblock_join(unsafe { (*waiting.cast::<Waiting<Real>>()).child }, thread);
    }
    fn guarded<Real: FnOnce() -> c_int>(thread: &Thread, child: &'static Thread, real: Real) -> c_int {
        let mut waiting = Waiting { child, real: Some(real) };
        // SAFETY: the functions get what they expect, which outlives the call.
        unsafe { guard::call(thread, call::<Real>, unwound::<Real>, (&raw mut waiting).cast()) }
    }
    let Some(child) = child.filter(|child| epoch::takes_part(child)) else {
        return epoch::outside(thread, real);
    };
    if threads::block_until_end(child, thread, site) {
        epoch::barrier::begin_next(thread);
    }
    let returned = guarded(thread, child, real);
    threads::unblock_join(child, thread);
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
    let (number, in_plan) = threads::numbers_of(pthread);
    let event = Event::new(op, site, 0).extra(u64::from(number));
    let step = enforce::arrive(thread, event);
    let step = step.filter(|step| enforce::is_thread(thread, step, &event, in_plan));
    let (_, slot) = gate::announced_alone(thread, event);
    let returned = real();
    gate::returned(thread, slot, result(returned));
    if let Some(step) = step {
        enforce::done_with(thread, step, event.result(result(returned)));
    }
    if op.effect() == covsched_core::hooks::Effect::Detach && result(returned) == 0 {
        threads::detached(pthread, number);
    }
    delay::point(thread);
    returned
}

/// The thread is about to end itself. Its `leave` is written at its real end, after all destructors.
pub fn note_exit(op: Op, site: SiteId) {
    if let Some(thread) = current() {
        epoch::barrier::enter(thread);
        delay::point(thread);
        thread.exit_site.set(site);
        let event = Event::new(op, site, 0).result(0);
        let step = enforce::arrive(thread, event);
        gate::announced_alone(thread, event);
        if let Some(step) = step {
            enforce::done(thread, step);
        }
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
        let real = |start, arg| birth::pthread_create(thread, attr, start, arg);
        create(Op::pthread_create, site, thread, joinable, (start, arg), real, same)
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attr: *const c_void, state: *mut c_int) -> c_int;
}

fn pthread_joining<Real: FnOnce() -> c_int>(
    op: Op,
    pthread: c_ulong,
    value: *mut c_void,
    site: SiteId,
    real: Real,
) -> Join<Real, impl Fn(u64) -> Option<c_int>> {
    // SAFETY: the program's thread, and where it wants the value.
    let slice = move |milliseconds| unsafe { join_slice(pthread, value, milliseconds) };
    Join { op, site, pthread, deadline: None, real, slice, result: same, returns: same }
}

pub unsafe fn pthread_join(thread: c_ulong, value: *mut c_void, site: SiteId) -> c_int {
    join(pthread_joining(Op::pthread_join, thread, value, site, || {
        // SAFETY: as above.
        unsafe { real::pthread_join(thread, value) }
    }))
}

pub unsafe fn pthread_tryjoin_np(thread: c_ulong, value: *mut c_void, site: SiteId) -> c_int {
    join(pthread_joining(Op::pthread_tryjoin_np, thread, value, site, || {
        // SAFETY: as above.
        unsafe { real::pthread_tryjoin_np(thread, value) }
    }))
}

pub unsafe fn pthread_timedjoin_np(
    thread: c_ulong,
    value: *mut c_void,
    deadline: *mut c_void,
    site: SiteId,
) -> c_int {
    // SAFETY: as above.
    let real = || unsafe { real::pthread_timedjoin_np(thread, value, deadline) };
    let call = pthread_joining(Op::pthread_timedjoin_np, thread, value, site, real);
    join(Join { deadline: Some((libc::CLOCK_REALTIME, deadline)), ..call })
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
    let call = pthread_joining(Op::pthread_clockjoin_np, thread, value, site, real);
    join(Join { deadline: Some((clock, deadline)), ..call })
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
