//! Who takes part in epochs, and how each thread stands.
//!
//! Main and the threads made by hooks take part. A thread of other code does not: nobody waits for it, and its
//! markers do nothing.

use super::id::Bag;
use crate::lock::Lock;
use crate::log::Own;
use crate::sys;
use crate::threads::Thread;
use core::cell::UnsafeCell;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use covsched_core::SiteId;

/// How a thread stands. All but [`RUNS`] and [`STOPPED`] are in none of the barrier's two counts.
pub type Standing = u32;
/// It takes no part: of other code, or ended. What zeroed memory says.
pub const ABSENT: Standing = 0;
/// It runs.
pub const RUNS: Standing = 1;
/// It waits in a queue of ours. Who takes it from there counts it as running.
pub const BLOCKED: Standing = 2;
/// It is in a library call that may block. Only it itself comes back.
pub const OUT: Standing = 3;
/// It stops at a marker. Who begins the next epoch counts it as running; then it sets this itself.
pub const STOPPED: Standing = 4;

/// A thread's part in epochs.
pub struct Member {
    pub standing: AtomicU32,
    /// The epoch word when it last stopped.
    pub stopped_in: Own<u32>,
    /// Where it is while it does not run: the marker, the call that it is blocked in; 0 in a library call.
    site: AtomicU64,
    /// Its call stack then.
    stack: AtomicU64,
    /// Its last clock then.
    clock: AtomicU64,
    /// How many hooks and markers it is in, if epochs are barriers: more than one in a signal handler.
    pub inside: Own<u32>,
    /// It is about to begin an epoch.
    pub begins: Own<bool>,
    /// How deep its stack of derived calls was when it went out.
    pub out_depth: Own<u32>,
    /// What it has counted.
    pub counts: Counts,
    /// Next in the list.
    next: AtomicPtr<Thread>,
}

/// A thread's markers and instructions.
pub struct Counts {
    /// The epoch word that `markers` belongs to.
    pub epoch: Own<u32>,
    /// Markers in this epoch.
    pub markers: Own<u64>,
    /// The thread's instructions at the epoch's start, at the last marker, and at the last that was no bypass.
    pub at_start: Own<i64>,
    pub at_marker: Own<i64>,
    pub at_stop: Own<i64>,
    /// Markers passed by since the last that was not: the epoch was short; others were ahead.
    pub short: Own<u32>,
    pub balanced: Own<u32>,
    /// How often it has come to the marker of a loop that does not synchronize, since then.
    pub spins: Own<u32>,
}

impl Counts {
    fn begin(&self) {
        self.epoch.set(super::barrier::epoch_word());
        self.markers.set(0);
        self.at_start.set(0);
        self.at_marker.set(0);
        self.at_stop.set(0);
        self.short.set(0);
        self.balanced.set(0);
        self.spins.set(0);
    }
}

impl Member {
    /// A thread begins, and so far takes no part.
    pub fn begin(&self) {
        self.standing.store(ABSENT, Ordering::Relaxed);
        self.inside.set(0);
        self.out_depth.set(0);
        self.begins.set(false);
        self.site.store(0, Ordering::Relaxed);
        self.stack.store(0, Ordering::Relaxed);
        self.clock.store(0, Ordering::Relaxed);
        self.counts.begin();
    }

    /// How it stands, as it itself or who holds its queue's lock knows.
    #[inline(always)]
    pub fn stands(&self) -> Standing {
        self.standing.load(Ordering::Relaxed)
    }

    /// Says where its thread is, which is about to stop running.
    pub fn note_place(&self, thread: &Thread, site: SiteId) {
        self.site.store(site.0, Ordering::Relaxed);
        self.stack.store(thread.derived.hash(), Ordering::Relaxed);
        let clock = thread.clock.get().max(thread.handler_clock.get());
        self.clock.store(clock, Ordering::Relaxed);
    }
}

struct List(UnsafeCell<*const Thread>);

// SAFETY: only touched under LOCK.
unsafe impl Sync for List {}

static LOCK: Lock = Lock::new();
static LIST: List = List(UnsafeCell::new(null()));

/// The threads that take part, under the list's lock.
pub struct Members<'a>(&'a mut *const Thread);

/// Runs `body` with the list, alone. Handlers that could want the list are kept away by the callers: they block
/// signals, or run while nobody is added or removed by this thread.
pub fn with<R>(body: impl FnOnce(&mut Members<'_>) -> R) -> R {
    LOCK.acquire();
    // SAFETY: under the lock.
    let result = body(&mut Members(unsafe { &mut *LIST.0.get() }));
    LOCK.release();
    result
}

/// As [`with`], undisturbed by signals.
fn change(body: impl FnOnce(&mut Members<'_>)) {
    let mask = sys::block_signals();
    with(body);
    sys::restore_signals(mask);
}

/// Adds the calling thread.
pub fn add(thread: &'static Thread) {
    change(|members| {
        thread.member.next.store(members.0.cast_mut(), Ordering::Relaxed);
        *members.0 = thread;
    });
}

/// Takes it away again.
pub fn remove(thread: &Thread) {
    change(|members| members.remove(thread));
}

/// In a forked child: only this one is there, or none.
pub fn reset(survivor: Option<&'static Thread>) {
    LOCK.reset();
    with(|members| *members.0 = null());
    if let Some(thread) = survivor {
        add(thread);
    }
}

impl Members<'_> {
    fn remove(&mut self, thread: &Thread) {
        let next = thread.member.next.swap(null_mut(), Ordering::Relaxed);
        if core::ptr::eq(*self.0, thread) {
            *self.0 = next;
            return;
        }
        let mut at = *self.0;
        // SAFETY: the list holds descriptors, which are never unmapped.
        while let Some(here) = unsafe { at.as_ref() } {
            if core::ptr::eq(here.member.next.load(Ordering::Relaxed), thread) {
                here.member.next.store(next, Ordering::Relaxed);
                return;
            }
            at = here.member.next.load(Ordering::Relaxed);
        }
    }

    /// Each thread: where it is, its call stack, its last clock. The site is 0 for one that is in a library call, or has
    /// just come back from it.
    pub fn for_each(&self, mut visit: impl FnMut(u64, u64, u64)) {
        let mut at = *self.0;
        // SAFETY: as above.
        while let Some(here) = unsafe { at.as_ref() } {
            let member = &here.member;
            let is_at_site = matches!(member.standing.load(Ordering::Acquire), BLOCKED | STOPPED);
            let site = if is_at_site { member.site.load(Ordering::Relaxed) } else { 0 };
            let (stack, clock) = (&member.stack, &member.clock);
            visit(site, stack.load(Ordering::Relaxed), clock.load(Ordering::Relaxed));
            at = member.next.load(Ordering::Relaxed);
        }
    }

    /// The id of an epoch that starts here.
    pub fn id(&self) -> u64 {
        let mut bag = Bag::default();
        self.for_each(|site, stack, _| bag.add(site, stack));
        bag.id()
    }

    /// The last clock of all threads.
    pub fn last_clock(&self) -> u64 {
        let mut last = 0;
        self.for_each(|_, _, clock| last = last.max(clock));
        last
    }
}
