//! A thread waits at a slot for something of a filter: it is released meanwhile (an update must not wait for it), and gives up
//! when the filter ends or its patience does.
//!
//! The timeout is there to find threads that wait for each other for ever, and a slow program must not be taken for that. So a thread
//! has patience for as long as what it waits for moves: a lock is given back by somebody, an event happens, though another gets
//! it; its own turn comes, for it is the [`super::heir`] at last. And it is time during which the thread looked that counts:
//! while it does not run (too many threads, a stopped process, a machine that sleeps), neither may those for which it waits.

use super::filter::Filter;
use super::heir::{Claim, Claimant};
use super::latch::{Sleeper, Wake};
use super::members::Member;
use super::protocol;
use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering};
use covsched_core::loom::wire;

/// Nanoseconds after which a waiting thread looks whether it still should be, at most.
pub const LOOK_EVERY: u64 = 100_000_000;

/// So often it looks within its patience, at least.
const LOOKS: u64 = 8;

/// Nanoseconds after which a waiting thread is preferred to others.
const STARVES_AFTER: u64 = 1_000_000;

/// Nanoseconds after which one that is preferred, and does not come, is suspected to be gone.
const GONE_AFTER: u64 = 3 * LOOK_EVERY;

/// How sleepers on a word are told apart.
const AS_HEIR: u32 = 1;
const AS_ANY: u32 = 2;

/// Nanoseconds after which to look again.
pub fn look_every(patience: u64) -> u64 {
    (patience / LOOKS).clamp(1_000_000, LOOK_EVERY)
}

/// What counts of the time since the last look: one that comes late counts as if it had come but a little late.
pub fn counts(since: u64, patience: u64) -> u64 {
    since.min(2 * look_every(patience))
}

/// A wait.
pub struct Wait<'a> {
    member: &'a Member,
    filter: &'a Filter,
    constraint: u16,
    location: usize,
    /// When it began; 0 before the first look.
    begun: u64,
    /// When it looked last.
    looked: u64,
    /// For how long it has looked in vain.
    waited: u64,
    /// What has moved, as it saw it last.
    moves: u32,
    is_starving: bool,
    /// Who was next, as it saw it last, and since when.
    next: Option<(Claim, u64)>,
    /// What the thread was doing, as others see it.
    before: u32,
}

impl<'a> Wait<'a> {
    /// The thread is released at the slot's location until [`Wait::end`].
    pub fn begin(member: &'a Member, filter: &'a Filter, constraint: u16, location: usize) -> Self {
        let before = member.waits.swap(wire::AT_SLOT, Ordering::Relaxed);
        protocol::release(member, location);
        // A handler that interrupted a wait has waited for as long as that: what is kept for one must come to the other.
        let is_nested = before == wire::AT_SLOT;
        let begun = if is_nested { sys::monotonic_nanoseconds() } else { 0 };
        filter.waits.fetch_add(is_nested.into(), Ordering::Relaxed);
        Wait {
            member,
            filter,
            constraint,
            location,
            begun,
            looked: begun,
            waited: 0,
            moves: 0,
            is_starving: is_nested,
            next: None,
            before,
        }
    }

    /// Whether to give up. Ends the filter if it took too long.
    pub fn is_over(&mut self) -> bool {
        if !self.filter.is_active() {
            return true;
        }
        let now = sys::monotonic_nanoseconds();
        if self.begun == 0 {
            self.filter.waits.fetch_add(1, Ordering::Relaxed);
            (self.begun, self.looked) = (now, now);
        }
        let patience = self.filter.patience();
        self.waited += counts(now.saturating_sub(self.looked), patience);
        self.looked = now;
        if self.waited < patience {
            return false;
        }
        self.filter.break_down(self.member, self.location, self.constraint, "waited too long there");
        true
    }

    /// What it waits for has moved, or is another thing from now on.
    pub fn goes_on(&mut self) {
        self.waited = 0;
    }

    /// It waits for no lock: nobody needs to give one back for it.
    pub fn is_for_no_lock(&self) {
        self.member.waits.store(wire::AT_CHECK, Ordering::Relaxed);
    }

    /// The thread runs again. `has_it`: it has got what it waited for, and should use it and give it back.
    pub fn end(self, has_it: bool) {
        self.member.takes.set(has_it);
        super::reacquire(self.member, self.location);
        self.member.takes.set(false);
        self.member.waits.store(self.before, Ordering::Relaxed);
    }

    /// The same, for who sees by itself to it that it is alone.
    pub fn end_gathered(self) {
        super::return_from(self.member, self.location);
        self.member.waits.store(self.before, Ordering::Relaxed);
    }
}

impl Claimant for Wait<'_> {
    fn claim(&mut self) -> Option<Claim> {
        let is_starving = self.is_starving
            || (self.begun != 0 && sys::monotonic_nanoseconds() > self.begun + STARVES_AFTER);
        self.is_starving = is_starving;
        is_starving.then(|| Claim::new(self.begun / 1_000_000, self.member.number()))
    }

    fn suspects(&mut self, next: Claim) -> bool {
        let now = sys::monotonic_nanoseconds();
        match self.next {
            Some((seen, since)) if seen == next => now > since + GONE_AFTER,
            _ => {
                self.next = Some((next, now));
                false
            }
        }
    }
}

impl Sleeper for Wait<'_> {
    fn gives_up(&mut self, moves: u32) -> bool {
        if self.moves != moves {
            self.moves = moves;
            self.goes_on();
        }
        self.is_over()
    }

    fn sleep(&mut self, word: &AtomicU32, value: u32, is_heir: bool) {
        let until = self.looked + look_every(self.filter.patience());
        // Woken, interrupted or not: the caller looks again.
        sys::futex_wait_as(word, value, until, if is_heir { AS_HEIR } else { AS_ANY });
    }

    fn wake(&mut self, word: &AtomicU32, who: Wake) {
        wake(word, who);
    }
}

/// Wakes those who wait as [`Sleeper`]s. The word may be gone by now.
pub fn wake(word: *const AtomicU32, who: Wake) {
    match who {
        Wake::Nobody => (),
        Wake::One => sys::futex_wake(word, 1),
        Wake::Heirs => sys::futex_wake_those(word, AS_HEIR),
        Wake::All => sys::futex_wake(word, i32::MAX as usize),
    }
}
