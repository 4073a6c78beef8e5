//! Divergences: the first is written to the status file, for `covsched run` to put into words; then the run goes on
//! free, or ends.

use super::{is_free, objects, plan, turn, FREE};
use crate::gate::Event;
use crate::threads::Thread;
use crate::{real, sys};
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use covsched_core::hooks::ObjectClass;
use covsched_core::plan::{
    Divergence, DivergenceKind, Link, NONE, STATE_DIVERGED, STATE_DIVERGING, STATE_FOLLOWING,
};
use covsched_core::rawlog::RESULT_PENDING;

/// End the process.
static ENDS: AtomicBool = AtomicBool::new(false);
static EXIT_CODE: AtomicI32 = AtomicI32::new(66);

/// Sets `on-divergence` and `exitcode`.
pub fn set_reaction(ends: bool, exit_code: i32) {
    ENDS.store(ends, Ordering::Relaxed);
    EXIT_CODE.store(exit_code, Ordering::Relaxed);
}

/// The thread did something else than its next step.
#[cold]
pub fn found(thread: &Thread, kind: DivergenceKind, event: &Event) {
    let result = if kind == DivergenceKind::OtherResult { event.result } else { RESULT_PENDING };
    let tenant =
        if event.op.class() == ObjectClass::Thread { NONE } else { objects::tenant_of(event.object) };
    report(describe(thread, kind, event, tenant, result));
}

/// The thread did the right thing to another thread, which has this number in the plan.
#[cold]
pub fn found_other_thread(thread: &Thread, event: &Event, other: u32) {
    report(describe(thread, DivergenceKind::OtherObject, event, other, RESULT_PENDING));
}

/// The thread waits for a step that nobody can do, or has not done for too long. `wants` is what it would do after its
/// last step.
#[cold]
pub fn found_waiting(thread: u32, position: u32, kind: DivergenceKind, wants: Option<Event>, link: Link) {
    let (op, site) = wants.map_or((NONE, 0), |event| (event.op as u32, event.site.0));
    report(Divergence {
        kind: kind as u32,
        thread,
        position,
        actual_op: op,
        actual_site: site,
        actual_address: 0,
        actual_object: NONE,
        actual_result: RESULT_PENDING,
        waits_for: [link.thread, link.position],
    });
}

fn describe(thread: &Thread, kind: DivergenceKind, event: &Event, object: u32, result: i32) -> Divergence {
    Divergence {
        kind: kind as u32,
        thread: thread.follower.number(),
        position: thread.follower.position(),
        actual_op: event.op as u32,
        actual_site: event.site.0,
        actual_address: event.object as u64,
        actual_object: object,
        actual_result: result,
        waits_for: [NONE, 0],
    }
}

fn report(divergence: Divergence) {
    let Some(status) = plan::status().filter(|_| !is_free()) else { return };
    let state = &status.state;
    status.divergences.fetch_add(1, Ordering::Relaxed);
    if state.compare_exchange(STATE_FOLLOWING, STATE_DIVERGING, Ordering::AcqRel, Ordering::Relaxed).is_err()
    {
        // Somebody else was first, and may be about to end the process.
        while ENDS.load(Ordering::Relaxed) {
            sys::sleep_nanoseconds(1_000_000);
        }
        FREE.store(true, Ordering::SeqCst);
        return;
    }
    // SAFETY: only the thread that set the state writes; readers wait for the next state.
    unsafe { (&raw const status.divergence).cast_mut().write_volatile(divergence) };
    state.store(STATE_DIVERGED, Ordering::SeqCst);
    sys::futex_wake_shared(state);
    if ENDS.load(Ordering::Relaxed) {
        // At once: other threads wait for their turn, some with locks that exit handlers may want.
        // SAFETY: no preconditions.
        unsafe { real::_exit(EXIT_CODE.load(Ordering::Relaxed)) };
    }
    FREE.store(true, Ordering::SeqCst);
    turn::wake_all();
}
