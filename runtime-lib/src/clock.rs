//! The hybrid logical clock of a recording; core's `rawlog` says what it is and why.
//!
//! An event that gives something up (unlock, post, signal) publishes its clock in the object's bucket before
//! the real call; an event that gets something (lock, wait) reads the bucket after the real call. Objects
//! share buckets by hash: that only makes clocks larger. A mutex has its clock in itself ([`last_of_mutex`]).

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use libc::c_void;

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
pub fn next(time: u64, floor: u64) -> u64 {
    time.max(floor + 1)
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

/// The words of a glibc mutex that only robust mutexes use (`__list`): where a mutex's clock is kept, in the
/// cache line that its lock and unlock have anyway. Written by who holds it; with kinds that refuse an unlock
/// by another thread, also by who tries that.
const OFFSET_IN_MUTEX: usize = 24;
/// Kinds of mutexes that have other uses for it, or other processes: robust, inheriting, protecting, shared.
const KEPT_IN_TABLE: u32 = 16 | 32 | 64 | 128;
/// Memory that was never initialized may hold anything: what is this far ahead is no clock.
const FAR_AHEAD: u64 = 1 << 44;

/// The word, and how the mutex treats a second lock: 1 recursive, 2 error-checking, 0 and 3 not at all.
///
/// # Safety
/// A live mutex.
#[inline(always)]
unsafe fn word_of_mutex(mutex: *mut c_void) -> Option<(&'static AtomicU64, u32)> {
    // SAFETY: by the contract; 40 bytes, 8-aligned. `__kind` is at 16.
    unsafe {
        let kind = mutex.cast::<u8>().add(16).cast::<u32>().read_volatile();
        let word = || &*mutex.cast::<u8>().add(OFFSET_IN_MUTEX).cast::<AtomicU64>();
        (kind & KEPT_IN_TABLE == 0).then(|| (word(), kind & 3))
    }
}

/// The last published clock of a mutex, as of `time`.
///
/// # Safety
/// A live mutex.
#[inline(always)]
pub unsafe fn last_of_mutex(mutex: *mut c_void, time: u64) -> u64 {
    // SAFETY: by the contract.
    match unsafe { word_of_mutex(mutex) } {
        Some((word, _)) => {
            Some(word.load(Ordering::Relaxed)).filter(|&clock| clock < time.saturating_add(FAR_AHEAD))
        }
        None => Some(last(mutex as usize)),
    }
    .unwrap_or(0)
}

/// Publishes the clock of a mutex that the thread is about to give up: whoever holds it next sees it.
///
/// # Safety
/// A live mutex.
#[inline(always)]
pub unsafe fn publish_of_mutex(mutex: *mut c_void, clock: u64) {
    // SAFETY: by the contract.
    match unsafe { word_of_mutex(mutex) } {
        Some((word, 0 | 3)) => word.store(clock, Ordering::Relaxed),
        Some((word, _)) => {
            word.fetch_max(clock, Ordering::Relaxed);
        }
        None => publish(mutex as usize, clock),
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
        assert_eq!(next(now(), last(0x1000)), far_ahead + 1);
        publish(0x1000, 5);
        assert_eq!(last(0x1000), far_ahead);
    }

    #[test]
    fn time_goes_on_with_and_without_a_counter() {
        for steady in [true, false] {
            HAS_STEADY_COUNTER.store(steady, Ordering::Relaxed);
            let first = next(now(), 0);
            assert!(first > 0 && next(now(), first) > first);
        }
        start();
    }

    #[test]
    fn a_mutex_keeps_its_clock_unless_glibc_or_another_process_needs_the_place() {
        for (kind, in_table) in [(0u64, false), (1, false), (2, false), (16, true), (33, true), (128, true)] {
            // owner and kind share the third word.
            let mutex = [0u64, 0, kind, 0, 0].map(core::cell::Cell::new);
            let pointer = mutex.as_ptr().cast_mut().cast::<c_void>();
            // SAFETY: 40 bytes that look like a mutex; so below.
            unsafe { publish_of_mutex(pointer, 1 << 30) };
            assert_eq!(mutex[3].get() == 0, in_table);
            assert_eq!(unsafe { last_of_mutex(pointer, 1 << 30) }, 1 << 30);
            mutex[3].set(u64::MAX - 7);
            assert!(unsafe { last_of_mutex(pointer, 1 << 30) } <= 1 << 30, "never initialized");
        }
    }
}
