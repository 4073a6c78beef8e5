//! Once: the caller that runs the routine writes a begin and an end around it, the others one event when
//! they return. A routine that throws or is cancelled ends with the flag "unwound", and may run again.
//!
//! glibc calls the routine without an argument, so what to do travels in the thread's descriptor, as a
//! stack, since a routine may call once again.

use crate::enforce;
use crate::gate::{self, Event};
use crate::threads::{current, Thread};
use crate::{clock, delay, epoch, guard, real};
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};
use covsched_core::hooks::Op;
use covsched_core::plan::{DivergenceKind, Step};
use covsched_core::rawlog::{Phase, FLAG_UNWOUND};
use covsched_core::{Clock, SiteId};
use libc::{c_int, c_void};

/// A call of once, on its caller's stack.
struct OnceCall {
    op: Op,
    site: SiteId,
    once: usize,
    routine: *mut c_void,
    outer: *const c_void,
    ran: Cell<bool>,
    /// Its begin in the plan, if it is the one that runs the routine there.
    step: Option<&'static Step>,
}

unsafe fn once(
    op: Op,
    once: *mut c_void,
    routine: *mut c_void,
    site: SiteId,
    real: impl FnOnce(*mut c_void) -> c_int,
) -> c_int {
    let Some(thread) = current() else { return real(routine) };
    delay::point(thread);
    let outer = thread.once.get();
    let event = Event::new(op, site, once as usize);
    let step = enforce::arrive(thread, event);
    let begin = step.filter(|step| step.phase == Phase::Begin as u8);
    let call = OnceCall { op, site, once: once as usize, routine, outer, ran: Cell::new(false), step: begin };
    thread.once.set((&raw const call).cast());
    // SAFETY: a live control.
    let returned = if unsafe { is_done(once) } {
        real(run_routine as *mut c_void)
    } else {
        // It may have to wait for another thread that runs the routine, and stops in there.
        epoch::outside(thread, || real(run_routine as *mut c_void))
    };
    if !call.ran.get() {
        thread.once.set(outer);
        let event = event.result(returned);
        gate::completed(thread, Clock(clock::last(once as usize)), event);
        match (begin, step) {
            // Somebody has run the routine who does not in the plan.
            (Some(_), _) => enforce::divergence::found(thread, DivergenceKind::OtherOperation, &event),
            (None, Some(step)) => enforce::done_with(thread, step, event),
            (None, None) => (),
        }
    }
    delay::point(thread);
    returned
}

/// Whether a routine has run: bit 1 of glibc's control.
///
/// # Safety
/// A live control.
unsafe fn is_done(once: *mut c_void) -> bool {
    // SAFETY: by the contract; other threads may write it.
    let control = unsafe { &*once.cast::<AtomicU32>() };
    control.load(Ordering::Acquire) & 2 != 0
}

/// What glibc calls in the routine's place.
unsafe extern "C" fn run_routine() {
    let Some(thread) = current() else { return };
    // SAFETY: set by the call of once that glibc calls this from.
    let call = unsafe { &*thread.once.get().cast::<OnceCall>() };
    thread.once.set(call.outer);
    call.ran.set(true);
    // The routine is the program's code: it is in the epoch, and its markers count.
    epoch::barrier::enter(thread);
    let inside = thread.member.inside.get();
    let begin = Event::new(call.op, call.site, call.once).phase(Phase::Begin).result(0);
    gate::completed(thread, Clock(clock::last(call.once)), begin);
    match call.step {
        Some(step) => enforce::done(thread, step),
        // Somebody else runs it in the plan.
        None if enforce::follows(thread) => {
            enforce::divergence::found(thread, DivergenceKind::OtherOperation, &begin)
        }
        None => (),
    }
    epoch::unwound(thread, 0);
    // SAFETY: the program's routine; the call outlives it.
    unsafe { guard::call(thread, call_routine, routine_was_unwound, (&raw const *call).cast_mut().cast()) };
    epoch::unwound(thread, inside);
    write_end(thread, call, 0);
    epoch::barrier::leave(thread);
}

unsafe extern "C" fn call_routine(call: *mut c_void) -> c_int {
    // SAFETY: as run_routine gives it; the routine is a void function without arguments.
    unsafe {
        let routine = (*call.cast::<OnceCall>()).routine;
        core::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(routine)();
    }
    0
}

unsafe fn routine_was_unwound(thread: &Thread, call: *mut c_void) {
    // SAFETY: as run_routine gave it; its frame is still there.
    write_end(thread, unsafe { &*call.cast::<OnceCall>() }, FLAG_UNWOUND);
}

/// Before glibc lets the others go on.
fn write_end(thread: &Thread, call: &OnceCall, flags: u8) {
    let end = Event::new(call.op, call.site, call.once).phase(Phase::End).result(0).flags(flags);
    let step = enforce::arrive(thread, end);
    gate::ordered(thread, Clock(clock::last(end.object)), end, |clock| clock::publish(end.object, clock));
    if let Some(step) = step {
        enforce::done(thread, step);
    }
}

pub unsafe fn pthread_once(control: *mut c_void, routine: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: the caller keeps the wrapped function's contract.
    unsafe { once(Op::pthread_once, control, routine, site, |routine| real::pthread_once(control, routine)) }
}

pub unsafe fn call_once(control: *mut c_void, routine: *mut c_void, site: SiteId) {
    // SAFETY: the caller keeps the wrapped function's contract.
    unsafe {
        once(Op::call_once, control, routine, site, |routine| {
            real::call_once(control, routine);
            0
        });
    }
}
