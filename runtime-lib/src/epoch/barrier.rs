//! The epoch barrier (Bergan 3.2.2 and Fig. 3.6): a count of threads that run and a count of those that stop at
//! markers, in one word, so that "nobody runs, and somebody stops" is one look.
//!
//! Who makes the first count 0 begins the next epoch, whether it stops, is blocked, goes out or ends ([`begin_next`]): it
//! moves all that stop to the running with one exchange, which fails if somebody has begun to run meanwhile (out of a
//! library call, say); then that one makes the count 0 the next time. Until the thread that moved them lets them go,
//! they count as running: so there is one who begins an epoch, and what it looks at stands still.
//!
//! No lock is held where a thread sleeps here, and signal handlers may post: both counts change without a lock.

use super::members::{self, ABSENT, BLOCKED, OUT, RUNS, STOPPED};
use super::select::{Free, Select, Selected, Start};
use super::shape::Length;
use super::AHEAD;
use crate::exports::{is_barrier, is_recording};
use crate::gate::{self, Event};
use crate::sys;
use crate::threads::Thread;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use covsched_core::hooks::Op;
use covsched_core::{Clock, SiteId};

/// How many run, in the high half, so that a count that is short for a moment does not touch the other; how many stop
/// at markers, in the low half; and whether somebody begins an epoch.
static CENSUS: AtomicU64 = AtomicU64::new(0);
const ONE_RUNS: u64 = 1 << 32;
const ONE_STOPS: u64 = 1;
const BEGINNING: u64 = 1 << 31;

/// Changes at each start of an epoch; threads at markers sleep on it.
static EPOCH: AtomicU32 = AtomicU32::new(0);
/// How many sleep there.
static SLEEPERS: AtomicU32 = AtomicU32::new(0);
/// Starts so far. Written by who begins an epoch.
static NUMBER: AtomicU64 = AtomicU64::new(0);
/// The clock of the last start's record: what threads do in that epoch comes later.
static FLOOR: AtomicU64 = AtomicU64::new(0);

/// How often a thread at a marker looks before it lets others run, and how often it does that before it sleeps: see
/// [`crate::enforce::turn`] for why it does.
const LOOKS: u32 = 100;
const YIELDS: u32 = 60;
/// Where so many stop, they would only keep those from running that they wait for.
const MANY: u64 = 8;

fn running(census: u64) -> u64 {
    census >> 32
}

fn stopping(census: u64) -> u64 {
    census & (BEGINNING - 1)
}

/// Changes with each epoch.
#[inline(always)]
pub fn epoch_word() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

fn count_up() {
    CENSUS.fetch_add(ONE_RUNS, Ordering::SeqCst);
}

/// True if the caller has to begin the next epoch.
#[must_use]
fn count_down() -> bool {
    let before = CENSUS.fetch_sub(ONE_RUNS, Ordering::SeqCst);
    running(before) == 1 && stopping(before) > 0
}

/// A thread about to be made takes part, and runs from now on.
pub fn add_child(child: &Thread) {
    if is_barrier() {
        count_up();
    }
    child.member.standing.store(RUNS, Ordering::Release);
}

/// It was not made after all.
pub fn child_was_not_made(creator: Option<&Thread>, child: &Thread) {
    if child.member.standing.swap(ABSENT, Ordering::Relaxed) == RUNS && is_barrier() {
        let is_last = count_down();
        if let Some(creator) = creator.filter(|_| is_last) {
            begin_next(creator);
        }
    }
}

/// The thread has ended.
pub fn end(thread: &Thread) {
    let stood = thread.member.standing.load(Ordering::Relaxed);
    if stood == ABSENT || !is_barrier() {
        return;
    }
    members::remove(thread);
    thread.member.standing.store(ABSENT, Ordering::Relaxed);
    if stood == RUNS && count_down() {
        begin_next(thread);
    }
}

/// The thread stops at a marker, until the next epoch starts.
pub fn stop(thread: &Thread, site: SiteId, length: &Length) {
    let member = &thread.member;
    AHEAD.reach(length);
    // Else it would take the start of the epoch in which it stops for that of the next.
    wait_for_begin(thread);
    let epoch = EPOCH.load(Ordering::SeqCst);
    member.note_place(thread, site);
    member.stopped_in.set(epoch);
    member.standing.store(STOPPED, Ordering::Relaxed);
    let before = CENSUS.fetch_add(ONE_STOPS.wrapping_sub(ONE_RUNS), Ordering::SeqCst);
    if running(before) == 1 {
        begin_next(thread);
    }
    wait_while(epoch);
    member.standing.store(RUNS, Ordering::Relaxed);
    take_floor(thread);
}

/// Waits until the epoch is another one.
fn wait_while(epoch: u32) {
    let has_started = || EPOCH.load(Ordering::SeqCst) != epoch;
    for _ in 0..LOOKS {
        if has_started() {
            return;
        }
        core::hint::spin_loop();
    }
    let yields = if stopping(CENSUS.load(Ordering::Relaxed)) < MANY { YIELDS } else { 0 };
    for _ in 0..yields {
        sys::yield_now();
        if has_started() {
            return;
        }
    }
    SLEEPERS.fetch_add(1, Ordering::SeqCst);
    while !has_started() {
        sys::futex_wait(&EPOCH, epoch);
    }
    SLEEPERS.fetch_sub(1, Ordering::SeqCst);
}

/// Begins the next epoch, if nobody runs and somebody stops at a marker.
pub fn begin_next(thread: &Thread) {
    thread.member.begins.set(true);
    if try_to_begin() {
        begin(thread);
    }
    thread.member.begins.set(false);
}

/// True if it is the caller who begins the next epoch.
fn try_to_begin() -> bool {
    let mut census = CENSUS.load(Ordering::SeqCst);
    loop {
        if running(census) != 0 || stopping(census) == 0 {
            return false;
        }
        let all_run = (stopping(census) * ONE_RUNS) | BEGINNING;
        match CENSUS.compare_exchange(census, all_run, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return true,
            Err(newer) => census = newer,
        }
    }
}

fn begin(thread: &Thread) {
    let number = NUMBER.load(Ordering::Relaxed) + 1;
    NUMBER.store(number, Ordering::Relaxed);
    members::with(|members| {
        let start = Start { number, id: members.id(), members };
        match Free.select(&start) {
            Selected::Free => (),
        }
        if is_recording() {
            record(thread, &start);
        }
    });
    AHEAD.reset();
    EPOCH.fetch_add(1, Ordering::SeqCst);
    CENSUS.fetch_and(!BEGINNING, Ordering::SeqCst);
    if SLEEPERS.load(Ordering::SeqCst) > 0 {
        sys::futex_wake(&EPOCH, i32::MAX as usize);
    }
}

/// Writes the start of an epoch: it comes after all that its threads did before, and before all that they do then.
fn record(thread: &Thread, start: &Start<'_>) {
    let event = Event::new(Op::epoch_start, SiteId::NONE, start.id as usize).extra(start.number).result(0);
    let clock = gate::completed(thread, Clock(start.members.last_clock()), event);
    FLOOR.store(clock.0, Ordering::SeqCst);
}

/// A thread that came back while somebody begins an epoch is in the new one, from when it has begun. Who begins it waits
/// for nobody; it may be this thread itself, in a signal handler.
#[inline(always)]
fn wait_for_begin(thread: &Thread) {
    while CENSUS.load(Ordering::SeqCst) & BEGINNING != 0 && !thread.member.begins.get() {
        sys::yield_now();
    }
}

/// What the thread does from now on comes after the start of the epoch.
#[inline(always)]
fn take_floor(thread: &Thread) {
    if is_recording() {
        wait_for_begin(thread);
        thread.clock.set(thread.clock.get().max(FLOOR.load(Ordering::SeqCst)));
    }
}

/// The thread is about to wait in a queue of ours: called under the queue's lock, when the thread is queued, so that who
/// takes it from there comes after. True if it has to begin the next epoch, when it has given the lock back.
///
/// In a signal handler that interrupted a wait at a marker the thread counts as running once the next epoch has
/// started. One that interrupted another wait is not counted, nor is one that takes no part.
#[must_use]
pub fn suspend(thread: &Thread, site: SiteId) -> bool {
    let member = &thread.member;
    let is_counted = match member.stands() {
        RUNS => true,
        STOPPED => EPOCH.load(Ordering::SeqCst) != member.stopped_in.get(),
        _ => false,
    };
    if !is_counted {
        return false;
    }
    member.note_place(thread, site);
    member.standing.store(BLOCKED, Ordering::SeqCst);
    count_down()
}

/// The thread is taken from its queue, or has given up waiting: it counts as running, once.
#[inline(always)]
pub fn resume(thread: &Thread) {
    let standing = &thread.member.standing;
    if standing.compare_exchange(BLOCKED, RUNS, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
        count_up();
    }
}

/// The calling thread goes on after a wait, whoever ended it.
#[inline(always)]
pub fn go_on(thread: &Thread) {
    if is_barrier() {
        resume(thread);
        take_floor(thread);
    }
}

/// The calling thread goes into a library call that may block: true if it was running.
pub fn leave(thread: &Thread) -> bool {
    let member = &thread.member;
    if !is_barrier() || member.stands() != RUNS {
        return false;
    }
    member.out_depth.set(thread.derived.depth());
    member.note_place(thread, SiteId::NONE);
    member.standing.store(OUT, Ordering::Relaxed);
    if count_down() {
        begin_next(thread);
    }
    true
}

/// It is back.
pub fn enter(thread: &Thread) {
    if is_barrier() && thread.member.stands() == OUT {
        count_up();
        thread.member.standing.store(RUNS, Ordering::Relaxed);
        take_floor(thread);
    }
}

/// In a forked child: epochs begin anew, with one thread or none.
pub fn after_fork_in_child(survivor: Option<&'static Thread>) {
    members::reset(survivor);
    // It is main now, whoever made it.
    if let Some(thread) = survivor.filter(|thread| thread.member.stands() != OUT) {
        thread.member.standing.store(RUNS, Ordering::Relaxed);
    }
    let runs = survivor.is_some_and(|thread| thread.member.stands() == RUNS);
    CENSUS.store(if runs { ONE_RUNS } else { 0 }, Ordering::SeqCst);
    SLEEPERS.store(0, Ordering::SeqCst);
    NUMBER.store(0, Ordering::Relaxed);
    FLOOR.store(0, Ordering::Relaxed);
    AHEAD.reset();
    // A handler that forked while its thread stopped at a marker returns there, and finds another epoch.
    EPOCH.fetch_add(1, Ordering::SeqCst);
}
