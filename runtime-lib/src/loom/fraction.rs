//! The counter of a semaphore between events `a{n1} > b{n2}` (Wu 5.2.3): `up` raises it by 1/n1, `down` lowers it by 1/n2. In
//! integers: U ups and D downs have been; another down may be if U/n1 >= (D+1)/n2. Whole turns, n1 ups and n2 downs, are
//! taken off, so that the numbers stay small and an unused semaphore is all zeros.
//!
//! Compiled against the `loom` crate too: tests/model.

use super::heir::Heir;
use super::latch::{Sleeper, Wake};
use super::sync::{fence, AtomicU32, AtomicU64, Ordering};

/// The counter. All zeros is a new one.
pub struct Fraction {
    /// U in the high half, D in the low one.
    counts: AtomicU64,
    /// n1 and n2 as they were when each was used first; 0 before.
    up_times: AtomicU32,
    down_times: AtomicU32,
}

/// The counts of a collected semaphore.
const DEAD: u64 = u64::MAX;

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// Done.
    Yes,
    /// Too few ups so far.
    No,
    /// Collected.
    Dead,
}

fn halves(counts: u64) -> (u64, u64) {
    (counts >> 32, counts & u64::from(u32::MAX))
}

impl Fraction {
    /// A new one; in mapped memory zeros do.
    #[cfg(test)]
    pub fn new() -> Fraction {
        Fraction { counts: AtomicU64::new(0), up_times: AtomicU32::new(0), down_times: AtomicU32::new(0) }
    }

    /// The value that counts: the first one that came.
    fn first(place: &AtomicU32, times: u32) -> u64 {
        let times = times.max(1);
        match place.compare_exchange(0, times, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => times.into(),
            Err(earlier) => earlier.into(),
        }
    }

    /// An event before has happened.
    pub fn up(&self, times: u32) -> Moved {
        Self::first(&self.up_times, times);
        self.change(|ups, downs| Some(((ups + 1).min(u64::from(u32::MAX) - 1), downs)))
    }

    /// An event after is to happen.
    pub fn down(&self, times: u32) -> Moved {
        let down_times = Self::first(&self.down_times, times);
        self.change(|ups, downs| {
            // Unknown while there has been no up, and then not needed.
            let up_times = u64::from(self.up_times.load(Ordering::Relaxed)).max(1);
            (ups * down_times >= (downs + 1) * up_times).then_some((ups, downs + 1))
        })
    }

    fn change(&self, step: impl Fn(u64, u64) -> Option<(u64, u64)>) -> Moved {
        let mut old = self.counts.load(Ordering::Acquire);
        loop {
            if old == DEAD {
                return Moved::Dead;
            }
            let (ups, downs) = halves(old);
            let Some((mut ups, mut downs)) = step(ups, downs) else { return Moved::No };
            let up_times = u64::from(self.up_times.load(Ordering::Relaxed));
            let down_times = u64::from(self.down_times.load(Ordering::Relaxed));
            while up_times > 0 && down_times > 0 && ups >= up_times && downs >= down_times {
                (ups, downs) = (ups - up_times, downs - down_times);
            }
            let new = ups << 32 | downs;
            match self.counts.compare_exchange(old, new, Ordering::SeqCst, Ordering::Acquire) {
                Ok(_) => return Moved::Yes,
                Err(now) => old = now,
            }
        }
    }

    /// Makes one that counts nothing dead.
    pub fn kill(&self) -> bool {
        self.counts.compare_exchange(0, DEAD, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Whether it counts nothing.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.counts.load(Ordering::Relaxed) == 0
    }
}

/// A semaphore: the counter, a word to sleep on that changes with each up, and how many may be asleep.
pub struct Semaphore<'a> {
    /// The counter.
    pub fraction: &'a Fraction,
    /// The word.
    pub word: &'a AtomicU32,
    /// How many wait.
    pub waiters: &'a AtomicU32,
    /// For whom the next events are, if one has waited for long.
    pub heir: &'a Heir,
}

impl Semaphore<'_> {
    /// An event before has happened; whether all sleepers are to be woken.
    pub fn up(&self, times: u32) -> (Moved, bool) {
        let moved = self.fraction.up(times);
        // Either this sees the waiter, or that sees the event.
        fence(Ordering::SeqCst);
        let has_waiters = moved == Moved::Yes && self.waiters.load(Ordering::Relaxed) > 0;
        if has_waiters {
            self.word.fetch_add(1, Ordering::SeqCst);
        }
        (moved, has_waiters)
    }

    /// An event after is to happen, if it may at once.
    pub fn try_down(&self, times: u32) -> Moved {
        if self.heir.is_nobody() {
            self.fraction.down(times)
        } else {
            Moved::No
        }
    }

    /// An event after is to happen: waits for as long as the sleeper does not give up.
    pub fn down(&self, times: u32, sleeper: &mut impl Sleeper) -> Moved {
        self.waiters.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let moved = loop {
            let word = self.word.load(Ordering::SeqCst);
            let is_heir = self.heir.is(sleeper);
            let moved = if is_heir { self.fraction.down(times) } else { self.try_down(times) };
            // Each event moves it on, though it may not be enough.
            if moved != Moved::No || sleeper.gives_up(word) {
                break moved;
            }
            sleeper.sleep(self.word, word, is_heir);
        };
        self.waiters.fetch_sub(1, Ordering::SeqCst);
        if self.heir.resign(sleeper) {
            // Others did not look whether they may.
            fence(Ordering::SeqCst);
            if self.waiters.load(Ordering::Relaxed) > 0 {
                self.word.fetch_add(1, Ordering::SeqCst);
                sleeper.wake(self.word, Wake::All);
            }
        }
        moved
    }
}
