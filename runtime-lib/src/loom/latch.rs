//! A lock of a filter: a word with its owner's number, on which others sleep (Drepper, "Futexes Are Tricky"). Unlike
//! [`crate::lock`], a thread can give up, and the word can be *dead*: nobody owned it, and its object was
//! collected. Compiled against the `loom` crate too: tests/model.
//!
//! A region in a loop would be taken again by the same thread for ever. So a thread that has waited for long says so in the
//! word ([`STARVING`]): when it becomes free, only those who have slept may take it.

use super::sync::{AtomicU32, Ordering};

/// In the word: somebody may be sleeping.
pub const WAITERS: u32 = 1 << 31;
/// In the word: it is for those who sleep.
pub const STARVING: u32 = 1 << 30;
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
    /// Whether it has waited for long.
    fn is_starving(&self) -> bool;
    /// Sleeps while the word has this value; may return early.
    fn sleep(&mut self, word: &AtomicU32, value: u32);
    /// Wakes one that sleeps.
    fn wake_one(&mut self, word: &AtomicU32);
}

/// Whose it is; 0: nobody's.
pub fn owner(value: u32) -> u32 {
    value & !(WAITERS | STARVING)
}

/// Takes it if it is free. `me` is below [`STARVING`] and not 0.
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
    let mut has_slept = false;
    loop {
        let value = word.load(Ordering::Relaxed);
        if value == DEAD {
            return Taken::Dead;
        }
        if owner(value) == 0 && (has_slept || value & STARVING == 0) {
            // Whoever has slept cannot know whether others still do.
            let waiters = if has_slept { WAITERS } else { value & WAITERS };
            if word.compare_exchange(value, me | waiters, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Taken::Yes;
            }
            continue;
        }
        if sleeper.gives_up() {
            stop_starving(word, sleeper);
            return Taken::No;
        }
        let slept_on = value | WAITERS | if sleeper.is_starving() { STARVING } else { 0 };
        if value == slept_on
            || word.compare_exchange(value, slept_on, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            sleeper.sleep(word, slept_on);
            has_slept = true;
        }
    }
}

/// One that may have said that it starves, or been woken, gives up: others must not wait for it.
fn stop_starving(word: &AtomicU32, sleeper: &mut impl Sleeper) {
    loop {
        let value = word.load(Ordering::Relaxed);
        if value == DEAD || value & STARVING == 0 {
            break;
        }
        if word.compare_exchange(value, value & !STARVING, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            break;
        }
    }
    sleeper.wake_one(word);
}

/// Gives it back; whether somebody is to be woken.
#[inline]
#[must_use]
pub fn give_back(word: &AtomicU32) -> bool {
    let mut value = word.load(Ordering::Relaxed);
    loop {
        let free = if value & STARVING != 0 { STARVING | WAITERS } else { 0 };
        match word.compare_exchange(value, free, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return value & WAITERS != 0,
            Err(now) => value = now,
        }
    }
}

/// Gives it back if it is `member`'s: whether it was, and whether somebody is to be woken. Who sleeps may have to sleep again.
pub fn give_back_of(word: &AtomicU32, member: u32) -> (bool, bool) {
    loop {
        let value = word.load(Ordering::Relaxed);
        if value == DEAD || owner(value) != member {
            return (false, false);
        }
        let free = if value & STARVING != 0 { STARVING | WAITERS } else { 0 };
        if word.compare_exchange(value, free, Ordering::Release, Ordering::Relaxed).is_ok() {
            return (true, value & WAITERS != 0);
        }
    }
}

/// Makes a free one dead.
pub fn kill(word: &AtomicU32) -> bool {
    word.compare_exchange(0, DEAD, Ordering::Acquire, Ordering::Relaxed).is_ok()
}
