//! Waiting for one's turn: a little while awake, then asleep on a word of one's own, so that only who is waited for
//! wakes somebody, and only the one who waits for it.
//!
//! The handshake: who sleeps sets `parked`, says for what (`asleep`), and looks again; who does a step stores `done`
//! and then looks whether somebody sleeps for it. Both sides have a full barrier between the two.

use super::{is_free, plan, stuck};
use crate::gate::Event;
use crate::log::Own;
use crate::sys::{self, Deadline};
use crate::threads::Thread;
use core::sync::atomic::{AtomicBool, Ordering};
use covsched_core::plan::{Link, Progress, Step, BLOCKED, RUNNING, WAITING};
use libc::{c_int, c_void};

/// How often a thread looks before it sleeps, at most and at least: some 30 us, what it takes to sleep and be woken,
/// and half a microsecond. Between them each thread learns: who looked in vain looks half as long the next
/// time, since there may be more threads than processors.
const MOST_LOOKS: u32 = 2048;
const LEAST_LOOKS: u32 = 32;
/// Every so many waits a thread tries again whether looking longer pays.
const TRY_AGAIN: u32 = 32;

/// How long a thread sleeps before it first asks whether anybody can still go on, in milliseconds; then twice
/// as long, up to the last.
const FIRST_DOUBT: u64 = 100;
const LAST_DOUBT: u64 = 1600;

/// Scheduled timeouts do not wait for their deadline.
static FAST_TIMEOUTS: AtomicBool = AtomicBool::new(false);

/// Sets `fast-timeouts`.
pub fn set_fast_timeouts(fast: bool) {
    FAST_TIMEOUTS.store(fast, Ordering::Relaxed);
}

/// What a sleeper writes to say what it sleeps for.
fn name(thread: u32, position: u32) -> u64 {
    u64::from(thread) << 32 | u64::from(position)
}

/// Waits until the step may be done: true. False if there is no plan to follow any more.
#[inline(never)]
pub fn wait(thread: &Thread, step: &'static Step) -> bool {
    let (after, _) = step.links(plan::links());
    after.iter().all(|link| wait_for(thread, *link))
}

fn wait_for(thread: &Thread, link: Link) -> bool {
    let Some(source) = plan::progress(link.thread) else { return true };
    let is_there = || source.done.load(Ordering::Acquire) >= link.position;
    let came = is_there()
        || look_for(&thread.follower.patience, source, is_there)
        || sleep_for(thread, link, is_there);
    if came && crate::exports::is_recording() {
        // What follows comes later in the recording, whatever the processors' counters say.
        thread.clock.set(thread.clock.get().max(source.clock.load(Ordering::Relaxed)));
    }
    came
}

/// What a thread has learned about looking; see [`MOST_LOOKS`].
pub struct Patience {
    looks: Own<u32>,
    waits: Own<u32>,
}

impl Patience {
    /// Of a thread that begins.
    pub fn begin(&self) {
        self.looks.set(MOST_LOOKS);
        self.waits.set(0);
    }
}

/// Looks for a while whether the turn has come.
fn look_for(patience: &Patience, source: &Progress, is_there: impl Fn() -> bool) -> bool {
    let waits = patience.waits.get().wrapping_add(1);
    patience.waits.set(waits);
    let most = if waits % TRY_AGAIN == 0 { MOST_LOOKS } else { patience.looks.get() };
    for look in 0..most {
        core::hint::spin_loop();
        if is_there() {
            patience.looks.set((2 * look).clamp(patience.looks.get(), MOST_LOOKS));
            return true;
        }
        // Who sleeps has to be woken first, and then to come here.
        let sleeps = look % 32 == 31 && source.state.load(Ordering::Relaxed) != RUNNING;
        if sleeps || is_free() {
            return false;
        }
    }
    patience.looks.set((patience.looks.get() / 2).max(LEAST_LOOKS));
    false
}

#[cold]
fn sleep_for(thread: &Thread, link: Link, is_there: impl Fn() -> bool) -> bool {
    let Some(own) = thread.follower.progress() else { return false };
    own.asleep.store(name(link.thread, link.position), Ordering::Relaxed);
    let came = sleep_while(thread, own, link, || !is_there());
    own.asleep.store(0, Ordering::Relaxed);
    came
}

/// Sleeps as long as `must_wait` says so: true. False if there is no plan to follow any more.
fn sleep_while(thread: &Thread, own: &Progress, link: Link, must_wait: impl Fn() -> bool) -> bool {
    own.state.store(WAITING, Ordering::Relaxed);
    let mut doubt = stuck::Doubt::new();
    let mut patience = FIRST_DOUBT;
    let came = loop {
        own.parked.swap(1, Ordering::SeqCst);
        if !must_wait() {
            break true;
        }
        if is_free() {
            break false;
        }
        if sys::futex_wait_until(&own.parked, 1, Deadline::After(patience)) == Err(libc::ETIMEDOUT) {
            stuck::look(thread, link, &mut doubt);
            patience = (2 * patience).min(LAST_DOUBT);
        }
    };
    own.parked.store(0, Ordering::Relaxed);
    own.state.store(RUNNING, Ordering::Relaxed);
    came
}

/// Waits for the end of the process, or of the plan.
pub fn wait_for_ever(thread: &Thread, event: &Event) {
    let Some(own) = thread.follower.progress() else { return };
    // So that a report can say what it wanted.
    thread.follower.wanted.set(Some(*event));
    sleep_while(thread, own, Link { thread: covsched_core::plan::NONE, position: 0 }, || true);
}

/// Sleeps until a signal comes, or for a moment.
pub fn sleep_a_little(thread: &Thread) {
    let Some(own) = thread.follower.progress() else { return };
    own.parked.swap(1, Ordering::SeqCst);
    if !is_free() {
        let _ = sys::futex_wait_until(&own.parked, 1, Deadline::After(FIRST_DOUBT));
    }
    own.parked.store(0, Ordering::Relaxed);
}

/// Sleeps until a deadline by a clock, for a timeout that the plan wants: true. False if the plan was left before.
///
/// # Safety
/// `deadline` is a timespec.
pub unsafe fn sleep_until(thread: &Thread, clock: c_int, deadline: *const c_void) -> bool {
    let Some(own) = thread.follower.progress() else { return false };
    if FAST_TIMEOUTS.load(Ordering::Relaxed) {
        return true;
    }
    loop {
        own.parked.swap(1, Ordering::SeqCst);
        if is_free() {
            own.parked.store(0, Ordering::Relaxed);
            return false;
        }
        let result = sys::futex_wait_until(&own.parked, 1, Deadline::At(clock, deadline.cast()));
        if matches!(result, Err(error) if error != libc::EINTR && error != libc::EAGAIN) {
            own.parked.store(0, Ordering::Relaxed);
            return true;
        }
    }
}

/// Runs what another thread must end: a join, a lock that is held.
pub fn blocked<R>(thread: &Thread, body: impl FnOnce() -> R) -> R {
    let own = thread.follower.progress();
    if let Some(own) = own {
        own.state.store(BLOCKED, Ordering::Relaxed);
    }
    let result = body();
    if let Some(own) = own {
        own.state.store(RUNNING, Ordering::Relaxed);
    }
    result
}

/// A step that others wait for has been done.
#[inline(never)]
pub fn publish(number: u32, progress: &Progress, step: &Step, position: u32) {
    progress.done.swap(position, Ordering::SeqCst);
    let (_, before) = step.links(plan::links());
    for link in before {
        let Some(waiter) = plan::progress(link.thread) else { continue };
        if waiter.asleep.load(Ordering::SeqCst) == name(number, position) {
            wake(waiter);
        }
    }
}

fn wake(waiter: &Progress) {
    waiter.parked.store(0, Ordering::SeqCst);
    sys::futex_wake(&waiter.parked, 1);
}

/// There is no plan any more: everybody who waits looks again.
pub fn wake_all() {
    plan::all_progress().iter().for_each(wake);
}
