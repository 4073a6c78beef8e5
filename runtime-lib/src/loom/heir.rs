//! Who of those that wait for a lock or a semaphore comes next, once it has waited for long: the one that has waited longest. While
//! there is such a one, nobody else gets what it waits for; so a wait ends after those who came earlier, however often others come.
//!
//! A thread that is next may be gone without a word (cancelled, or a handler jumped out of the wait). Others suspect that after a
//! while and take its place. If they are wrong, it takes its place back when it looks: it is still the oldest.
//!
//! Compiled against the `loom` crate too: tests/model.

use super::sync::{AtomicU64, Ordering};

/// Who a thread is, and since when it has waited: the smaller, the longer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Claim(u64);

impl Claim {
    /// Bits of a member's number.
    const NUMBER: u32 = 30;

    /// Of the member with that number, which is not 0. Of the time 34 bits count.
    pub fn new(since_milliseconds: u64, member: u32) -> Claim {
        Claim(since_milliseconds << Self::NUMBER | u64::from(member))
    }

    fn member(self) -> u64 {
        self.0 & ((1 << Self::NUMBER) - 1)
    }
}

/// A thread that waits, as far as this goes.
pub trait Claimant {
    /// Its claim, if it has waited for long.
    fn claim(&mut self) -> Option<Claim>;
    /// Whether it has known this one to be next for so long that it may be gone.
    fn suspects(&mut self, next: Claim) -> bool;
}

/// Who is next; 0: nobody. All zeros is a new one.
pub struct Heir(pub AtomicU64);

impl Heir {
    /// Whether nobody has a claim.
    pub fn is_nobody(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Whether it is this thread, which makes its claim if it has one. A handler takes the place of the wait that it interrupted,
    /// which cannot go on before it, and makes its claim again then.
    pub fn is(&self, thread: &mut impl Claimant) -> bool {
        let Some(claim) = thread.claim() else { return false };
        let mut next = self.0.load(Ordering::Relaxed);
        loop {
            if next == claim.0 {
                return true;
            }
            let is_own = Claim(next).member() == claim.member();
            if next != 0 && next < claim.0 && !is_own && !thread.suspects(Claim(next)) {
                return false;
            }
            match self.0.compare_exchange(next, claim.0, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => next = now,
            }
        }
    }

    /// The thread waits no longer; whether it was next.
    pub fn resign(&self, thread: &mut impl Claimant) -> bool {
        let resigns =
            |claim: Claim| self.0.compare_exchange(claim.0, 0, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        thread.claim().is_some_and(resigns)
    }
}
