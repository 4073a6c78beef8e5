//! Loom: execution filters in this process (Wu, Ch. 5). core's `loom::abi` says what instrumented code does; this is the rest.
//!
//! - [`words`], [`entry`]: the symbols that instrumented code uses
//! - [`protocol`]: pause and re-acquire; [`members`]: the threads; [`units`]: what was compiled with loom
//!
//! Nothing here needs the hooks' mode: a program without `COVSCHED_OPTIONS` is controlled too. A program without
//! loom's units never comes here.

#![allow(dead_code)] // until the engine is here

mod alone;
mod engine;
mod entry;
mod fork;
mod holdings;
mod members;
mod pile;
mod protocol;
mod slot;
mod units;
mod words;

/// What [`protocol`] is made of; the model test has its own.
mod sync {
    pub use core::sync::atomic::{fence, AtomicU32, AtomicU8, AtomicUsize, Ordering};
}

use crate::lock::Lock;
use crate::sys;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU8, Ordering};
use members::Member;

/// What all threads share.
pub struct Gate {
    generation: AtomicU32,
}

/// The one gate.
static GATE: Gate = Gate { generation: AtomicU32::new(0) };

impl protocol::Shared for Gate {
    fn pending(&self) -> &AtomicU8 {
        &words::PENDING
    }

    fn generation(&self) -> &AtomicU32 {
        &self.generation
    }

    fn sleep(&self, generation: u32) {
        alone::watch();
        let limit = sys::Deadline::After(SLEEP_AT_MOST);
        // A wake-up, a signal or the limit: the caller looks again.
        let _ = sys::futex_wait_until(&self.generation, generation, limit);
    }

    fn wake(&self) {
        sys::futex_wake(&self.generation, i32::MAX as usize);
    }

    fn barrier(&self) {
        if words::PENDING.load(Ordering::Relaxed) & protocol::FENCES == 0 {
            sys::membarrier();
        }
    }
}

/// Milliseconds after which a paused thread looks whether it still should be.
const SLEEP_AT_MOST: u64 = 100;

/// Who may change the pending byte and the functions' "wait" bits.
static CONTROL: Lock = Lock::new();

/// Runs `body` alone among those who ask threads to pause.
fn with_control<R>(body: impl FnOnce() -> R) -> R {
    let mask = sys::block_signals();
    CONTROL.acquire();
    let result = body();
    CONTROL.release();
    sys::restore_signals(mask);
    result
}

/// Set by the option `loom-membarrier=0`.
static NO_MEMBARRIER: AtomicBool = AtomicBool::new(false);

/// Before the first unit registers.
fn start() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    with_control(|| {
        if STARTED.swap(true, Ordering::Relaxed) {
            return;
        }
        if NO_MEMBARRIER.load(Ordering::Relaxed) || !sys::register_membarrier() {
            words::PENDING.fetch_or(protocol::FENCES, Ordering::Release);
        }
    });
}

/// Units have registered.
fn registered() {}

/// A thread ends, or has vanished: what it holds of filters is released. Under the registry's lock, or the thread itself.
fn thread_ends(member: &Member) {
    holdings::release_all(member);
}

/// A thread has ended.
fn thread_ended() {
    engine::notice();
}
