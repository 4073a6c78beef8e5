//! Whether anybody can still go on. Asked by a thread that has waited long for its turn.
//!
//! On an input that does not fit, threads can wait for each other without anybody doing something that the plan
//! does not expect: one waits for a lock that is held by one that waits for its turn. All of them are then in
//! operations that only another of them can end, and known to be. If that is so twice, with no step between, the
//! run is stuck. A thread that computes, or waits in a system call, may come back: it never is.
//!
//! `stall=SECONDS` gives up that patience: no step anywhere for so long is a divergence too.

use super::{divergence, plan};
use crate::gate::Event;
use crate::sys;
use crate::threads::Thread;
use core::sync::atomic::{AtomicU64, Ordering};
use covsched_core::plan::{DivergenceKind, Link, Progress, BLOCKED, ENDED, NONE, NOT_MADE, WAITING};

/// `stall`, in nanoseconds; 0 for never.
static STALL: AtomicU64 = AtomicU64::new(0);

/// Sets `stall`.
pub fn set_stall(seconds: u64) {
    STALL.store(seconds.saturating_mul(1_000_000_000), Ordering::Relaxed);
}

/// What a waiting thread saw when it last looked.
pub struct Doubt {
    since: u64,
    steps: u64,
    was_stuck: bool,
}

impl Doubt {
    /// Nothing yet.
    pub fn new() -> Doubt {
        Doubt { since: sys::monotonic_nanoseconds(), steps: u64::MAX, was_stuck: false }
    }
}

/// Looks; `link` is what the thread waits for.
pub fn look(thread: &Thread, link: Link, doubt: &mut Doubt) {
    let steps = plan::all_progress().iter().map(|one| u64::from(one.followed.load(Ordering::Relaxed))).sum();
    let is_stuck = !plan::expects_strangers() && nobody_can_go_on();
    if steps != doubt.steps {
        (doubt.steps, doubt.since, doubt.was_stuck) = (steps, sys::monotonic_nanoseconds(), is_stuck);
        return;
    }
    if is_stuck && doubt.was_stuck {
        report(thread, DivergenceKind::Stuck, link);
    }
    doubt.was_stuck = is_stuck;
    let stall = STALL.load(Ordering::Relaxed);
    if stall != 0 && sys::monotonic_nanoseconds() - doubt.since >= stall {
        report(thread, DivergenceKind::Stalled, link);
    }
}

fn nobody_can_go_on() -> bool {
    plan::all_progress().iter().all(|one| match one.state.load(Ordering::Relaxed) {
        WAITING => !has_its_turn(one),
        BLOCKED | ENDED | NOT_MADE => true,
        _ => false,
    })
}

/// It waits for a step that has been done: it is about to go on.
fn has_its_turn(one: &Progress) -> bool {
    let asleep = one.asleep.load(Ordering::SeqCst);
    let (thread, position) = ((asleep >> 32) as u32, asleep as u32);
    asleep != 0 && plan::progress(thread).is_some_and(|source| source.done.load(Ordering::SeqCst) >= position)
}

/// Names the thread that tells most: one that wants to do what the plan does not have; else the one that asked.
fn report(thread: &Thread, kind: DivergenceKind, link: Link) {
    let wants: Option<Event> = (link.thread == NONE).then(|| thread.follower.wanted.get()).flatten();
    divergence::found_waiting(thread.follower.number(), thread.follower.position(), kind, wants, link);
}
