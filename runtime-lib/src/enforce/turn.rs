//! Waiting for one's turn: a little while awake, then asleep on a word of one's own, so that only who is waited for
//! wakes somebody, and only the one who waits for it.
//!
//! The handshake: who sleeps sets `parked`, says for what (`asleep`), and looks again; who does a step stores `done`
//! and then looks whether somebody sleeps for it. Both sides have an exchange between the two, which is a full barrier
//! on x86-64; elsewhere a sleeper that misses it looks again a moment later.

use super::{is_free, plan, stuck};
use crate::gate::Event;
use crate::log::Own;
use crate::sys::{self, Deadline};
use crate::threads::Thread;
use core::sync::atomic::{AtomicBool, Ordering};
use covsched_core::plan::{Link, Progress, Step, BLOCKED, NONE, RUNNING, WAITING};
use libc::{c_int, c_void};

/// How often a thread looks, at most and at least, before it lets others run: 2 us, and half of one. Between them each
/// thread learns: who looked in vain looks half as long the next time.
const MOST_LOOKS: u32 = 128;
const LEAST_LOOKS: u32 = 32;
/// How often it then lets others run before it sleeps. Two threads that take turns, and happen to be on one processor,
/// stay there for ever if one sleeps whenever the other runs; as long as both want to run, they are soon on two.
/// And an idle processor takes tens of microseconds to wake up.
const YIELDS: u32 = 300;
/// Every so many waits a thread tries again whether looking longer pays.
const TRY_AGAIN: u32 = 32;

/// How long a thread sleeps before it first asks whether anybody can still go on, in milliseconds; then twice
/// as long, up to the last.
const FIRST_DOUBT: u64 = 100;
const LAST_DOUBT: u64 = 1600;

/// What a thread waits for that waits for no step.
const NO_STEP: Link = Link { thread: NONE, position: 0 };

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
    let seen = thread.follower.seen.of(link.thread);
    if seen.get() >= name(link.thread, link.position) && seen.get() >> 32 == u64::from(link.thread) {
        return true;
    }
    let Some(source) = plan::progress(link.thread) else { return true };
    let is_there = || source.done.load(Ordering::Acquire) >= link.position;
    let came = is_there()
        || look_for(&thread.follower.patience, source, is_there)
        || sleep_for(thread, link, is_there);
    if came {
        seen.set(name(link.thread, source.done.load(Ordering::Acquire)));
    }
    if came && crate::exports::is_recording() {
        // What follows comes later in the recording, whatever the processors' counters say.
        thread.clock.set(thread.clock.get().max(source.clock.load(Ordering::Relaxed)));
    }
    came
}

/// How far a thread has seen others, so that it need not look again where it knows: what others write all the time
/// costs a cache miss to look at. Threads share places by number; each place has the [`name`] of what was seen.
pub struct Seen([Own<u64>; SEEN]);

const SEEN: usize = 16;

impl Seen {
    /// Of a thread that begins.
    pub fn begin(&self) {
        // No link has position 0, so nothing is taken for seen.
        self.0.iter().for_each(|place| place.set(0));
    }

    fn of(&self, thread: u32) -> &Own<u64> {
        &self.0[thread as usize % SEEN]
    }
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
        if sleeps {
            break;
        }
        if is_free() {
            return false;
        }
    }
    patience.looks.set((patience.looks.get() / 2).max(LEAST_LOOKS));
    for _ in 0..YIELDS {
        sys::yield_now();
        if is_there() {
            return true;
        }
        if is_free() {
            return false;
        }
    }
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

/// The thread has no more steps: waits for the end of the process, or of the plan (false). If the plan is cut off: until
/// nobody has any more steps, or nobody can do them (true).
pub fn wait_at_the_end(thread: &Thread, event: &Event, is_cut_off: bool) -> bool {
    let Some(own) = thread.follower.progress() else { return false };
    // So that a report can say what it wanted.
    thread.follower.wanted.set(Some(*event));
    let is_over = || is_cut_off && stuck::steps_done() >= plan::steps();
    sleep_while(thread, own, NO_STEP, || !is_over())
}

/// Sleeps until a signal has come and its handler has run, or somebody has posted: true. False if there is no
/// plan any more.
pub fn wait_for_signal(thread: &Thread, has_units: impl Fn() -> bool) -> bool {
    let mut doubt = stuck::Doubt::new();
    let before = thread.follower.position();
    // Signals come in while it sleeps, and at no other moment.
    let mask = sys::block_signals();
    let came = loop {
        if thread.follower.position() != before || has_units() {
            break true;
        }
        if is_free() {
            break false;
        }
        if sys::sleep_with_signals(FIRST_DOUBT, &mask) {
            break true;
        }
        stuck::look(thread, NO_STEP, &mut doubt);
    };
    sys::restore_signals(mask);
    came
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

/// Runs what another thread must end: a join, a lock that is held. `by` is that thread in the plan, or [`NONE`].
pub fn blocked<R>(thread: &Thread, by: u32, body: impl FnOnce() -> R) -> R {
    begin_blocked(thread, by);
    let result = body();
    end_blocked(thread);
    result
}

/// The first half of [`blocked`], where the body may be left by unwinding.
pub fn begin_blocked(thread: &Thread, by: u32) {
    if let Some(own) = thread.follower.progress() {
        own.blocked_by.store(by.wrapping_add(1), Ordering::Relaxed);
        own.state.store(BLOCKED, Ordering::Relaxed);
    }
}

/// And the second.
pub fn end_blocked(thread: &Thread) {
    if let Some(own) = thread.follower.progress() {
        own.state.store(RUNNING, Ordering::Relaxed);
    }
}

/// An operation that the plan says succeeds, and that cannot be done now: tries it again and again, since what keeps it
/// may be outside of the plan. `slice` waits for up to so many milliseconds: what came of it, `None` if nothing
/// yet. `by` says who keeps it, or [`NONE`]; `gives_up` whether it is to be left. `None` if there is no plan any more.
pub fn wait_outside(
    thread: &Thread,
    slice: impl Fn(u64) -> Option<c_int>,
    by: impl Fn() -> u32,
    gives_up: impl Fn() -> Option<c_int>,
) -> Option<c_int> {
    let mut doubt = stuck::Doubt::new();
    loop {
        let by = by();
        let came = if by == NONE { slice(FIRST_DOUBT) } else { blocked(thread, by, || slice(FIRST_DOUBT)) };
        if came.is_some() {
            return came;
        }
        if is_free() {
            return None;
        }
        if let Some(result) = gives_up() {
            return Some(result);
        }
        if by != NONE {
            begin_blocked(thread, by);
        }
        stuck::look(thread, NO_STEP, &mut doubt);
        end_blocked(thread);
        if is_free() {
            return None;
        }
    }
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
