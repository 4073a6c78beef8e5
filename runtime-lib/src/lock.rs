//! The runtime's own lock: spins a little, then sleeps on a futex (Drepper, "Futexes Are Tricky", mutex 2).
//! Works in memory that starts as zeros. Taken by hand and released by hand: no guard value, so that nothing
//! has a destructor in hook frames.

use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const HELD_WITH_SLEEPERS: u32 = 2;
const SPINS: u32 = 100;

/// A lock.
pub struct Lock(AtomicU32);

impl Lock {
    /// A free one.
    pub const fn new() -> Lock {
        Lock(AtomicU32::new(FREE))
    }

    /// Takes it.
    #[inline]
    pub fn acquire(&self) {
        if self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.acquire_slowly();
        }
    }

    #[cold]
    fn acquire_slowly(&self) {
        for _ in 0..SPINS {
            core::hint::spin_loop();
            if self.0.load(Ordering::Relaxed) == FREE
                && self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
        }
        while self.0.swap(HELD_WITH_SLEEPERS, Ordering::Acquire) != FREE {
            sys::futex_wait(&self.0, HELD_WITH_SLEEPERS);
        }
    }

    /// Gives it back.
    #[inline]
    pub fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) == HELD_WITH_SLEEPERS {
            sys::futex_wake(&self.0, 1);
        }
    }

    /// In a forked child: whoever held it is not there any more.
    pub fn reset(&self) {
        self.0.store(FREE, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn excludes_and_loses_no_wakeup() {
        static LOCK: Lock = Lock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        LOCK.acquire();
                        // Not one atomic addition: the lock must make it one.
                        COUNT.store(COUNT.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        LOCK.release();
                    }
                });
            }
        });
        assert_eq!(COUNT.load(Ordering::Relaxed), 80_000);
    }
}
