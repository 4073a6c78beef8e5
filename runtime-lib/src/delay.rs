//! `delay=SEED`: random delays at the begin and end of hooks, to try other interleavings. A test aid.

use crate::sys;
use crate::threads::Thread;
use core::sync::atomic::{AtomicU64, Ordering};
use covsched_core::hash::mix;

/// The seed plus 1; 0 for no delays.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Turns delays on.
pub fn start(seed: u64) {
    SEED.store(seed.wrapping_add(1).max(1), Ordering::Relaxed);
}

/// The state of a thread's generator, 0 for no delays.
pub fn seed(thread: u32) -> u64 {
    match SEED.load(Ordering::Relaxed) {
        0 => 0,
        seed => mix(seed ^ u64::from(thread).rotate_left(32)).max(1),
    }
}

/// A place where the thread may be delayed.
#[inline(always)]
pub fn point(thread: &Thread) {
    if thread.delay.get() != 0 {
        delay(thread);
    }
}

/// In one of four yields; in one of eight sleeps up to 200 us.
#[cold]
fn delay(thread: &Thread) {
    let state = xorshift(thread.delay.get());
    thread.delay.set(state);
    // The low bits of an xorshift are weak.
    match (state >> 32) % 8 {
        0 | 1 => sys::yield_now(),
        2 => sys::sleep_nanoseconds(((state >> 40) % 200_000) as u32),
        _ => (),
    }
}

/// Marsaglia's 64-bit xorshift (13, 7, 17); never 0 from a state that is not.
fn xorshift(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_differ_and_the_generator_does_not_stop() {
        assert_eq!(seed(3), 0);
        start(0);
        assert_ne!(seed(0), seed(1));
        let mut state = seed(1);
        for _ in 0..1000 {
            let next = xorshift(state);
            assert!(next != 0 && next != state);
            state = next;
        }
    }
}
