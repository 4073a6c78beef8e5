//! A lock of a filter: a word with its owner's number, on which others sleep (Drepper, "Futexes Are Tricky"). Unlike
//! [`crate::lock`], a thread can give up, and the word can be *dead*: nobody owned it, and its object was
//! collected. Compiled against the `loom` crate too: tests/model.
//!
//! Whoever comes by while it is free gets it, since that costs least; a region in a loop would be taken again by the same thread
//! for ever. So a thread that has waited for long becomes its [`Heir`] and says so in the word ([`KEPT`]): when the owner gives the
//! lock back, it is for the heir alone.

use super::heir::{Claimant, Heir};
use super::sync::{AtomicU32, Ordering};

/// In the word: somebody may be sleeping.
pub const WAITERS: u32 = 1 << 31;
/// In the word: it is for the heir.
pub const KEPT: u32 = 1 << 30;
/// The word of a collected object.
pub const DEAD: u32 = WAITERS - 1;

/// The lock. All zeros is a free one.
pub struct Latch {
    /// Whose it is.
    pub word: AtomicU32,
    /// How often it was given back while somebody was waiting: who waits sees that it moves.
    pub releases: AtomicU32,
    /// Whom it is kept for.
    pub heir: Heir,
}

/// What came of trying to take it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// It is the caller's.
    Yes,
    /// It is another's, and the caller gave up, or did not want to wait.
    No,
    /// Its object was collected.
    Dead,
}

/// Whom to wake, of those who sleep on the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Nobody sleeps.
    Nobody,
    /// One, whoever it is.
    One,
    /// Those who slept as heirs: one, or some more that are so no longer.
    Heirs,
    /// All.
    All,
}

/// How a thread waits.
pub trait Sleeper: Claimant {
    /// Whether to give up; asked before each sleep. `moves` is another number whenever what it waits for has moved.
    fn gives_up(&mut self, moves: u32) -> bool;
    /// Sleeps while the word has this value; may return early.
    fn sleep(&mut self, word: &AtomicU32, value: u32, is_heir: bool);
    /// Wakes others.
    fn wake(&mut self, word: &AtomicU32, who: Wake);
}

/// Whose it is; 0: nobody's.
pub fn owner(value: u32) -> u32 {
    value & !(WAITERS | KEPT)
}

impl Latch {
    /// Takes it if it is free. `me` is below [`KEPT`] and not 0.
    #[inline]
    pub fn try_take(&self, me: u32) -> Taken {
        match self.word.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Taken::Yes,
            Err(DEAD) => Taken::Dead,
            Err(_) => Taken::No,
        }
    }

    /// Takes it, or waits for it.
    pub fn take(&self, me: u32, sleeper: &mut impl Sleeper) -> Taken {
        let mut has_slept = false;
        loop {
            let value = self.word.load(Ordering::Relaxed);
            if value == DEAD {
                return Taken::Dead;
            }
            let is_heir = self.heir.is(sleeper);
            if owner(value) == 0 && (value & KEPT == 0 || is_heir) {
                // Whoever has slept cannot know whether others still do.
                let waiters = if has_slept { WAITERS } else { value & WAITERS };
                let taken =
                    self.word.compare_exchange(value, me | waiters, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_ok() {
                    self.heir.resign(sleeper);
                    return Taken::Yes;
                }
                continue;
            }
            if sleeper.gives_up(self.releases.load(Ordering::Relaxed)) {
                self.leave(sleeper);
                return Taken::No;
            }
            let slept_on = value | WAITERS | if is_heir { KEPT } else { 0 };
            let is_said =
                || self.word.compare_exchange(value, slept_on, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if value == slept_on || is_said() {
                sleeper.sleep(&self.word, slept_on, is_heir);
                has_slept = true;
            }
        }
    }

    /// One that may be the heir, or have been woken, gives up: others must not wait for it.
    fn leave(&self, sleeper: &mut impl Sleeper) {
        if self.heir.resign(sleeper) {
            // Who became heir in between says so again when it looks.
            let mut value = self.word.load(Ordering::Relaxed);
            while value != DEAD && value & KEPT != 0 {
                let free = value & !KEPT;
                match self.word.compare_exchange(value, free, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => break,
                    Err(now) => value = now,
                }
            }
        }
        sleeper.wake(&self.word, Wake::One);
    }

    /// Whether it is this member's.
    pub fn is_of(&self, member: u32) -> bool {
        let value = self.word.load(Ordering::Relaxed);
        value != DEAD && owner(value) == member
    }

    /// Gives it back; whom to wake.
    #[inline]
    #[must_use]
    pub fn give_back(&self) -> Wake {
        self.free(self.word.load(Ordering::Relaxed), |_| true).unwrap_or(Wake::Nobody)
    }

    /// Gives it back if it is `member`'s: whom to wake then.
    pub fn give_back_of(&self, member: u32) -> Option<Wake> {
        self.free(self.word.load(Ordering::Relaxed), |value| value != DEAD && owner(value) == member)
    }

    #[inline]
    fn free(&self, mut value: u32, may: impl Fn(u32) -> bool) -> Option<Wake> {
        let mut is_counted = false;
        while may(value) {
            // Before, for it may be collected afterwards.
            if value & WAITERS != 0 && !is_counted {
                self.releases.fetch_add(1, Ordering::Relaxed);
                is_counted = true;
            }
            let (free, wake) = match value & (KEPT | WAITERS) {
                0 => (0, Wake::Nobody),
                WAITERS => (0, Wake::One),
                _ => (KEPT | WAITERS, Wake::Heirs),
            };
            match self.word.compare_exchange(value, free, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Some(wake),
                Err(now) => value = now,
            }
        }
        None
    }

    /// Makes a free one dead.
    pub fn kill(&self) -> bool {
        self.word.compare_exchange(0, DEAD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}
