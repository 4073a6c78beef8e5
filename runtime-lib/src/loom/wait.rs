//! A thread waits at a slot for something of a filter: it is released meanwhile (an update must not wait for it), and gives up
//! when the filter ends or its patience does.

use super::filter::Filter;
use super::members::Member;
use super::{latch, protocol, GATE};
use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering};
use covsched_core::loom::wire;

/// Milliseconds after which a waiting thread looks whether it still should be.
const LOOK_EVERY: u64 = 100;

/// Nanoseconds after which a waiting thread is preferred to one that comes.
const STARVES_AFTER: u64 = 1_000_000;

/// A wait.
pub struct Wait<'a> {
    member: &'a Member,
    filter: &'a Filter,
    constraint: u16,
    location: usize,
    /// When it gives up; 0 before the first look.
    deadline: u64,
    /// What the thread was doing, as others see it.
    before: u32,
}

impl<'a> Wait<'a> {
    /// The thread is released at the slot's location until [`Wait::end`].
    pub fn begin(member: &'a Member, filter: &'a Filter, constraint: u16, location: usize) -> Self {
        let before = member.waits.swap(wire::AT_SLOT, Ordering::Relaxed);
        protocol::release(member, location);
        Wait { member, filter, constraint, location, deadline: 0, before }
    }

    /// Whether to give up. Ends the filter if it took too long.
    pub fn is_over(&mut self) -> bool {
        if !self.filter.is_active() {
            return true;
        }
        let now = sys::monotonic_nanoseconds();
        if self.deadline == 0 {
            self.filter.waits.fetch_add(1, Ordering::Relaxed);
            self.deadline = now.saturating_add(self.filter.patience());
        }
        if now >= self.deadline {
            self.filter.break_down(self.member, self.location, self.constraint, "waited too long there");
            return true;
        }
        false
    }

    /// The thread runs again. `has_it`: it has got what it waited for, and should use it and give it back.
    pub fn end(self, has_it: bool) {
        self.member.takes.set(has_it);
        protocol::reacquire(&GATE, self.member, self.location);
        self.member.takes.set(false);
        self.member.waits.store(self.before, Ordering::Relaxed);
    }
}

impl latch::Sleeper for Wait<'_> {
    fn gives_up(&mut self) -> bool {
        self.is_over()
    }

    fn is_starving(&self) -> bool {
        let begun = self.deadline.saturating_sub(self.filter.patience());
        self.deadline != 0 && sys::monotonic_nanoseconds() > begun + STARVES_AFTER
    }

    fn wake_one(&mut self, word: &AtomicU32) {
        sys::futex_wake(word, 1);
    }

    fn sleep(&mut self, word: &AtomicU32, value: u32) {
        let left = self.deadline.saturating_sub(sys::monotonic_nanoseconds()) / 1_000_000 + 1;
        // Woken, interrupted or not: the caller looks again.
        let _ = sys::futex_wait_until(word, value, sys::Deadline::After(left.min(LOOK_EVERY)));
    }
}
