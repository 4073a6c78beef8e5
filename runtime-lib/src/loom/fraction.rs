//! The counter of a semaphore between events `a{n1} > b{n2}` (Wu 5.2.3): `up` raises it by 1/n1, `down` lowers it by 1/n2. In
//! integers: U ups and D downs have been; another down may be if U/n1 >= (D+1)/n2. Whole turns, n1 ups and n2 downs, are
//! taken off, so that the numbers stay small and an unused semaphore is all zeros.
//!
//! Compiled against the `loom` crate too: tests/model.

use super::sync::{AtomicU32, AtomicU64, Ordering};

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
    /// A new one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_ups_for_one_down() {
        let semaphore = Fraction::new();
        assert_eq!(semaphore.down(1), Moved::No);
        for _ in 0..2 {
            semaphore.up(3);
            semaphore.up(3);
            assert_eq!(semaphore.down(1), Moved::No);
            semaphore.up(3);
            assert_eq!(semaphore.down(1), Moved::Yes);
            assert!(semaphore.is_idle());
        }
    }

    #[test]
    fn one_up_for_two_downs_and_the_first_n_counts() {
        let semaphore = Fraction::new();
        semaphore.up(1);
        assert_eq!(semaphore.down(2), Moved::Yes);
        assert_eq!(semaphore.down(9), Moved::Yes);
        assert_eq!(semaphore.down(2), Moved::No);
        assert!(semaphore.kill());
        assert_eq!(semaphore.up(1), Moved::Dead);
        assert_eq!(semaphore.down(1), Moved::Dead);
    }

    #[test]
    fn three_ups_for_two_downs() {
        let semaphore = Fraction::new();
        let downs = |expected: &[Moved]| expected.iter().for_each(|&one| assert_eq!(semaphore.down(2), one));
        semaphore.up(3);
        downs(&[Moved::No]);
        semaphore.up(3);
        downs(&[Moved::Yes, Moved::No]);
        semaphore.up(3);
        downs(&[Moved::Yes, Moved::No]);
    }
}
