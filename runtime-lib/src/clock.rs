//! The hybrid logical clock of a recording; core's `rawlog` says what it is and why.
//!
//! An event that gives something up (unlock, post, signal) publishes its clock in the object's bucket before
//! the real call; an event that gets something (lock, wait) reads the bucket after the real call. Objects
//! share buckets by hash: that only makes clocks larger.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const BUCKETS: usize = 1024;

#[repr(align(64))]
struct Bucket(AtomicU64);

static TABLE: [Bucket; BUCKETS] = [const { Bucket(AtomicU64::new(0)) }; BUCKETS];

/// Whether the time stamp counter runs at one rate everywhere, always.
static HAS_STEADY_COUNTER: AtomicBool = AtomicBool::new(false);

/// The time where there is no such counter.
static TICKS: AtomicU64 = AtomicU64::new(1);

/// Finds out what the processor has. At start, before the first event.
pub fn start() {
    HAS_STEADY_COUNTER.store(has_steady_counter(), Ordering::Relaxed);
}

#[cfg(target_arch = "x86_64")]
fn has_steady_counter() -> bool {
    use core::arch::x86_64::__cpuid;
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT_TSC: u32 = 1 << 8;
    __cpuid(0x8000_0000).eax >= POWER_MANAGEMENT && __cpuid(POWER_MANAGEMENT).edx & INVARIANT_TSC != 0
}

#[cfg(target_arch = "aarch64")]
fn has_steady_counter() -> bool {
    true
}

#[inline(always)]
fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction. It need not be ordered: see `next`.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let count: u64;
        // SAFETY: readable in user mode on Linux.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nostack, nomem)) };
        count
    }
}

/// The time now: never 0.
#[inline(always)]
pub fn now() -> u64 {
    if HAS_STEADY_COUNTER.load(Ordering::Relaxed) {
        counter()
    } else {
        TICKS.fetch_add(1, Ordering::Relaxed)
    }
}

/// A clock after `floor`: the time, or one more than what it must follow. The counter may be read a
/// little early or late, or disagree between processors: the order is right by `floor` alone.
#[inline(always)]
pub fn next(floor: u64) -> u64 {
    now().max(floor + 1)
}

#[inline(always)]
fn bucket(object: usize) -> &'static AtomicU64 {
    // Objects are 4- to 64-byte aligned; heap blocks repeat at page distance.
    &TABLE[((object >> 3) ^ (object >> 13)) % BUCKETS].0
}

/// The last published clock of an object.
#[inline(always)]
pub fn last(object: usize) -> u64 {
    bucket(object).load(Ordering::Acquire)
}

/// Publishes the clock of an event on an object: what follows it there gets a later clock.
#[inline(always)]
pub fn publish(object: usize, clock: u64) {
    let bucket = bucket(object);
    let mut seen = bucket.load(Ordering::Relaxed);
    while seen < clock {
        match bucket.compare_exchange_weak(seen, clock, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(newer) => seen = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_event_has_a_later_clock_even_if_the_counter_lags() {
        start();
        let far_ahead = now() + (1 << 50);
        publish(0x1000, far_ahead);
        assert_eq!(next(last(0x1000)), far_ahead + 1);
        publish(0x1000, 5);
        assert_eq!(last(0x1000), far_ahead);
    }

    #[test]
    fn time_goes_on_with_and_without_a_counter() {
        for steady in [true, false] {
            HAS_STEADY_COUNTER.store(steady, Ordering::Relaxed);
            let first = next(0);
            assert!(first > 0 && next(first) > first);
        }
        start();
    }
}
