//! Whether a thread that has waited long can still go on. It asks itself.
//!
//! On an input that does not fit, threads can wait for each other without anybody doing something that the plan
//! does not expect: one waits for a lock that is held by one that waits for its turn. Two signs of that, each seen twice
//! with nothing done between:
//! - the thread waits for one that waits for one ... that waits for one of them, or has ended;
//! - every thread waits, is in an operation that only another one can end, or has ended.
//!
//! A thread that computes, or waits in a system call, may come back: nobody who waits for it is stuck. Nor is one whose
//! lock is held by who knows whom.
//!
//! `stall=SECONDS` gives up that patience: no step anywhere for so long is a divergence too.

use super::{divergence, plan};
use crate::gate::Event;
use crate::sys;
use crate::threads::Thread;
use core::sync::atomic::{AtomicU64, Ordering};
use covsched_core::hash::mix;
use covsched_core::plan::{
    DivergenceKind, Link, Progress, BLOCKED, ENDED, NONE, NOT_MADE, PLAN_COMPLETE, WAITING,
};

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
    chain: Option<u64>,
}

impl Doubt {
    /// Nothing yet.
    pub fn new() -> Doubt {
        Doubt { since: sys::monotonic_nanoseconds(), steps: u64::MAX, was_stuck: false, chain: None }
    }
}

/// How many steps have been done.
pub fn steps_done() -> u64 {
    plan::all_progress().iter().map(|one| u64::from(one.followed.load(Ordering::Relaxed))).sum()
}

/// Looks; `link` is what the thread waits for, thread [`NONE`] if it is no step.
pub fn look(thread: &Thread, link: Link, doubt: &mut Doubt) {
    let chain = closed_chain(thread.follower.number());
    if chain.is_some() && chain == doubt.chain {
        return report(thread, DivergenceKind::Stuck, link);
    }
    doubt.chain = chain;
    let (steps, is_stuck) = (steps_done(), nobody_can_go_on());
    if steps != doubt.steps {
        (doubt.steps, doubt.since, doubt.was_stuck) = (steps, sys::monotonic_nanoseconds(), is_stuck);
        return;
    }
    if is_stuck && doubt.was_stuck {
        return report(thread, DivergenceKind::Stuck, link);
    }
    doubt.was_stuck = is_stuck;
    let stall = STALL.load(Ordering::Relaxed);
    if stall != 0 && sys::monotonic_nanoseconds() - doubt.since >= stall {
        report(thread, DivergenceKind::Stalled, link);
    }
}

/// Follows who waits for whom from a thread. If that comes back, or to one that has ended: what it looks like.
fn closed_chain(first: u32) -> Option<u64> {
    let threads = plan::all_progress();
    let mut at = first;
    let mut waits_for_step = false;
    let mut looks = 0;
    // Long enough to have been everywhere, and then around once more.
    for _ in 0..=threads.len() {
        let one = threads.get(at as usize)?;
        looks = mix(looks ^ u64::from(at) << 32 ^ u64::from(one.followed.load(Ordering::Relaxed)));
        (at, waits_for_step) = match one.state.load(Ordering::Relaxed) {
            WAITING if !has_its_turn(one) => match one.asleep.load(Ordering::SeqCst) {
                0 => return None,
                asleep => ((asleep >> 32) as u32, true),
            },
            BLOCKED => (one.blocked_by.load(Ordering::Relaxed).checked_sub(1)?, false),
            // Who joins it is about to go on.
            ENDED if waits_for_step => return Some(looks),
            _ => return None,
        };
    }
    Some(looks)
}

fn nobody_can_go_on() -> bool {
    let threads = plan::all_progress();
    let (mut there, mut may_be_another) = (crate::loom::own_threads(), false);
    for (number, one) in threads.iter().enumerate() {
        match one.state.load(Ordering::Relaxed) {
            WAITING if has_its_turn(one) => return false,
            WAITING => there += 1,
            BLOCKED => {
                there += 1;
                may_be_another |= waits_for_the_end(one);
            }
            // The kernel keeps the first thread until the last one has ended.
            ENDED => there += usize::from(number == 0),
            NOT_MADE => may_be_another |= super::is_foreign(plan::flags_of(number as u32)),
            _ => return false,
        }
    }
    // A thread of code without hooks may be on its way, or one that has ended for the plan still be in its last destructors.
    !may_be_another || sys::threads_of_process() <= there
}

/// It waits for one that has done its last step: perhaps joins it, and goes on when that has really ended.
fn waits_for_the_end(one: &Progress) -> bool {
    let by = one.blocked_by.load(Ordering::Relaxed).checked_sub(1);
    by.and_then(plan::progress).is_some_and(|other| other.state.load(Ordering::Relaxed) == ENDED)
}

/// It waits for a step that has been done: it is about to go on.
fn has_its_turn(one: &Progress) -> bool {
    let asleep = one.asleep.load(Ordering::SeqCst);
    let (thread, position) = ((asleep >> 32) as u32, asleep as u32);
    asleep != 0 && plan::progress(thread).is_some_and(|source| source.done.load(Ordering::SeqCst) >= position)
}

/// Names a thread that waits for its turn, if there is one: it tells more than one that joins.
fn report(thread: &Thread, kind: DivergenceKind, link: Link) {
    let for_turn = |one: &Progress| one.state.load(Ordering::Relaxed) == WAITING;
    let waiting = plan::all_progress().iter().enumerate().find_map(|(number, one)| {
        let asleep = one.asleep.load(Ordering::SeqCst);
        (for_turn(one) && asleep != 0).then_some((
            number as u32,
            one.followed.load(Ordering::Relaxed),
            asleep,
        ))
    });
    if let (NONE, None, Some((number, position, asleep))) =
        (link.thread, thread.follower.wanted.get(), waiting)
    {
        let link = Link { thread: (asleep >> 32) as u32, position: asleep as u32 };
        return divergence::found_waiting(number, position, kind, None, link);
    }
    let wants: Option<Event> = (link.thread == NONE).then(|| thread.follower.wanted.get()).flatten();
    // What is cut off ends where nobody gets any further.
    let is_the_end = wants.is_some() && plan::flags() & PLAN_COMPLETE == 0 && kind == DivergenceKind::Stuck;
    let kind = if is_the_end { DivergenceKind::MoreEvents } else { kind };
    divergence::found_waiting(thread.follower.number(), thread.follower.position(), kind, wants, link);
}
