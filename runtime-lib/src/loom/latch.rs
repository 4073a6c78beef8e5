//! A lock of a filter: a word with its owner's number, on which others sleep (Drepper, "Futexes Are Tricky"). Unlike
//! [`crate::lock`], a thread can give up, and the word can be *dead*: nobody owned it, and its object was
//! collected. Compiled against the `loom` crate too: tests/model.

use super::sync::{AtomicU32, Ordering};

/// In the word: somebody may be sleeping.
pub const WAITERS: u32 = 1 << 31;
/// The word of a collected object.
pub const DEAD: u32 = WAITERS - 1;

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

/// How a thread waits.
pub trait Sleeper {
    /// Whether to give up; asked before each sleep.
    fn gives_up(&mut self) -> bool;
    /// Sleeps while the word has this value; may return early.
    fn sleep(&mut self, word: &AtomicU32, value: u32);
}

/// Takes it if it is free. `me` is below [`DEAD`] and not 0.
#[inline]
pub fn try_take(word: &AtomicU32, me: u32) -> Taken {
    match word.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
        Ok(_) => Taken::Yes,
        Err(DEAD) => Taken::Dead,
        Err(_) => Taken::No,
    }
}

/// Takes it, or waits for it.
pub fn take(word: &AtomicU32, me: u32, sleeper: &mut impl Sleeper) -> Taken {
    // Whoever has slept cannot know whether others still do.
    let mut has_slept = 0;
    loop {
        let value = word.load(Ordering::Relaxed);
        if value == DEAD {
            return Taken::Dead;
        }
        if value == 0 {
            if word.compare_exchange(0, me | has_slept, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Taken::Yes;
            }
            continue;
        }
        if sleeper.gives_up() {
            return Taken::No;
        }
        let slept_on = value | WAITERS;
        if value == slept_on
            || word.compare_exchange(value, slept_on, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            sleeper.sleep(word, slept_on);
            has_slept = WAITERS;
        }
    }
}

/// Gives it back; whether somebody is to be woken.
#[inline]
#[must_use]
pub fn give_back(word: &AtomicU32) -> bool {
    word.swap(0, Ordering::Release) & WAITERS != 0
}

/// Gives it back if it is `owner`'s: whether it was, and whether somebody is to be woken.
pub fn give_back_of(word: &AtomicU32, owner: u32) -> (bool, bool) {
    loop {
        let value = word.load(Ordering::Relaxed);
        if value & !WAITERS != owner {
            return (false, false);
        }
        if word.compare_exchange(value, 0, Ordering::Release, Ordering::Relaxed).is_ok() {
            return (true, value & WAITERS != 0);
        }
    }
}

/// Makes a free one dead.
pub fn kill(word: &AtomicU32) -> bool {
    word.compare_exchange(0, DEAD, Ordering::Acquire, Ordering::Relaxed).is_ok()
}
