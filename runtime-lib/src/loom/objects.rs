//! The locks and semaphores of a filter, by constraint and key: made when they are first used, found without a lock,
//! collected when nobody holds them and they have not been used for a while (Wu 5.2.3).
//!
//! Chains only grow at their heads, by any thread that makes an object, and only the engine takes objects out. An object that is taken
//! out is killed first, while nobody holds it: who has found it before sees that, and looks again. Its memory is
//! used again when nobody can be reading it ([`super::block`]).

use super::block::{self, Block};
use super::fork;
use super::fraction::{Fraction, Semaphore};
use super::heir::Heir;
use super::latch::Latch;
use crate::lock::Lock;
use crate::sys;
use core::cell::UnsafeCell;
use core::mem::size_of;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU8, Ordering};
use covsched_core::hash::mix;

/// Which of a constraint's objects: its lock, or one of its semaphores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    /// The constraint.
    pub constraint: u16,
    /// 0: the lock; else a semaphore's number plus 1.
    pub step: u16,
    /// The key.
    pub key: [u64; 2],
}

/// A lock or a semaphore.
#[repr(C, align(64))]
pub struct Object {
    name: Name,
    next: AtomicPtr<Object>,
    /// Next among those that are in no chain; the chain's link stays for those who stand here.
    next_spare: UnsafeCell<*mut Object>,
    /// Of a lock.
    pub latch: Latch,
    /// Used since the engine last looked.
    used: AtomicU8,
    /// Of a semaphore, as the next three: its counter.
    fraction: Fraction,
    /// Changes with each up.
    pub word: AtomicU32,
    /// How many wait.
    waiters: AtomicU32,
    heir: Heir,
}

const _: () = assert!(size_of::<Object>() <= 128);

const CHAINS: usize = 256;
/// More than this and something is wrong with the filter.
const MOST: u32 = 1 << 18;
const SLAB: usize = 64 << 10;

/// Objects that are not in a chain.
struct Spare {
    free: *mut Object,
    /// Taken out, but perhaps being read; and since when.
    limbo: *mut Object,
    limbo_time: u64,
    slabs: *mut Block,
    /// Of the newest slab, what has not been used at all.
    fresh: (*mut Object, usize),
}

// SAFETY: atomic, or as Objects says.
unsafe impl Sync for Object {}

/// A filter's objects. All zeros is none.
pub struct Objects {
    chains: [AtomicPtr<Object>; CHAINS],
    count: AtomicU32,
    lock: Lock,
    spare: UnsafeCell<Spare>,
}

// SAFETY: chains are atomic, the rest is under the lock.
unsafe impl Sync for Objects {}

impl Objects {
    fn chain(&self, name: &Name) -> &AtomicPtr<Object> {
        let mixed = mix(name.key[0]
            ^ name.key[1].rotate_left(32)
            ^ u64::from(name.constraint) << 16
            ^ u64::from(name.step));
        &self.chains[mixed as usize % CHAINS]
    }

    fn search(mut at: *mut Object, name: &Name) -> Option<&'static Object> {
        // SAFETY: the caller is reading, so what it finds stays.
        while let Some(object) = unsafe { at.as_ref() } {
            if object.name == *name {
                return Some(object);
            }
            at = object.next.load(Ordering::Acquire);
        }
        None
    }

    /// The object of that name, made if there is none; `None` without memory, or if there are too many. The caller is reading.
    pub fn find(&self, name: &Name) -> Option<&'static Object> {
        let chain = self.chain(name);
        let found = Self::search(chain.load(Ordering::Acquire), name).or_else(|| self.make(chain, name))?;
        if found.used.load(Ordering::Relaxed) == 0 {
            found.used.store(1, Ordering::Relaxed);
        }
        Some(found)
    }

    #[cold]
    fn make(&self, chain: &AtomicPtr<Object>, name: &Name) -> Option<&'static Object> {
        let mask = sys::block_signals();
        self.lock.acquire();
        // SAFETY: under the lock.
        let spare = unsafe { &mut *self.spare.get() };
        // All who make one are under the lock: nobody has come in between, or is found here.
        let found = Self::search(chain.load(Ordering::Acquire), name).or_else(|| {
            if self.count.load(Ordering::Relaxed) >= MOST {
                return None;
            }
            let object = spare.take()?;
            // SAFETY: nobody else knows it.
            unsafe {
                object.write_bytes(0, 1);
                (*object).name = *name;
                let mut head = chain.load(Ordering::Relaxed);
                loop {
                    (*object).next.store(head, Ordering::Relaxed);
                    match chain.compare_exchange(head, object, Ordering::Release, Ordering::Relaxed) {
                        Ok(_) => break,
                        Err(now) => head = now,
                    }
                }
            }
            self.count.fetch_add(1, Ordering::Relaxed);
            // SAFETY: in a chain now.
            Some(unsafe { &*object })
        });
        self.lock.release();
        sys::restore_signals(mask);
        found
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Looks at each. The caller is reading, or the engine.
    pub fn for_each(&self, mut body: impl FnMut(&'static Object)) {
        for chain in &self.chains {
            let mut at = chain.load(Ordering::Acquire);
            // SAFETY: as above.
            while let Some(object) = unsafe { at.as_ref() } {
                body(object);
                at = object.next.load(Ordering::Acquire);
            }
        }
    }

    /// Takes out what is idle and has not been used since the last time. The engine's, with signals blocked.
    pub fn collect(&self) {
        self.lock.acquire();
        // SAFETY: under the lock.
        let spare = unsafe { &mut *self.spare.get() };
        if !spare.limbo.is_null() && spare.limbo_time <= block::oldest_reader() {
            spare.end_limbo();
        }
        // One batch at a time.
        if spare.limbo.is_null() && self.count() > 0 {
            for chain in &self.chains {
                self.sweep(chain, spare);
            }
            if !spare.limbo.is_null() {
                spare.limbo_time = block::retire();
            }
        }
        self.lock.release();
    }

    /// Under the lock: heads do not change.
    fn sweep(&self, chain: &AtomicPtr<Object>, spare: &mut Spare) {
        let mut link = chain;
        loop {
            let at = link.load(Ordering::Acquire);
            // SAFETY: in the chain, which only this thread shortens.
            let Some(object) = (unsafe { at.as_ref() }) else { break };
            let was_used = object.used.swap(0, Ordering::Relaxed) != 0;
            if was_used || !object.kill() {
                link = &object.next;
                continue;
            }
            link.store(object.next.load(Ordering::Relaxed), Ordering::Release);
            self.count.fetch_sub(1, Ordering::Relaxed);
            spare.add_to_limbo(at);
        }
    }

    /// The memory of all, for whoever retires the filter.
    pub fn slabs(&self, mut body: impl FnMut(*mut Block)) {
        // SAFETY: the filter is gone; the engine alone is here.
        let mut at = unsafe { (*self.spare.get()).slabs };
        while !at.is_null() {
            // SAFETY: each slab begins with a link to the next.
            let next = unsafe { block::body(at).cast::<*mut Block>().read() };
            body(at);
            at = next;
        }
    }

    /// In a forked child: only the thread with this number is there. Others may have been about to note what they had taken.
    pub fn after_fork_in_child(&self, survivor: u32) {
        self.lock.reset();
        // SAFETY: the child's only thread. Somebody may have been in the middle of these: what they had is lost.
        let spare = unsafe { &mut *self.spare.get() };
        (spare.free, spare.limbo, spare.fresh.1) = (core::ptr::null_mut(), core::ptr::null_mut(), 0);
        self.for_each(|object| {
            object.waiters.store(0, Ordering::Relaxed);
            fork::reset_heir(&object.heir);
            fork::reset_latch(&object.latch, survivor);
        });
    }
}

impl Object {
    /// Its name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// It, as one.
    pub fn semaphore(&self) -> Semaphore<'_> {
        Semaphore { fraction: &self.fraction, word: &self.word, waiters: &self.waiters, heir: &self.heir }
    }

    /// Makes it unusable if nobody holds it.
    fn kill(&self) -> bool {
        if self.name.step == 0 {
            return self.latch.kill();
        }
        self.waiters.load(Ordering::SeqCst) == 0 && self.fraction.kill()
    }

    /// Wakes whoever waits for it.
    pub fn wake(&self) {
        self.word.fetch_add(1, Ordering::SeqCst);
        sys::futex_wake(&self.word, i32::MAX as usize);
        sys::futex_wake(&self.latch.word, i32::MAX as usize);
    }
}

impl Spare {
    fn take(&mut self) -> Option<*mut Object> {
        if !self.free.is_null() {
            let object = self.free;
            // SAFETY: in the free list.
            self.free = unsafe { *(*object).next_spare.get() };
            return Some(object);
        }
        if self.fresh.1 == 0 {
            let slab = block::map(SLAB)?;
            let body = block::body(slab);
            // SAFETY: new room; the first object's place holds the link.
            unsafe { body.cast::<*mut Block>().write(self.slabs) };
            self.slabs = slab;
            self.fresh = (body.wrapping_add(size_of::<Object>()).cast(), SLAB / size_of::<Object>() - 1);
        }
        let object = self.fresh.0;
        self.fresh = (object.wrapping_add(1), self.fresh.1 - 1);
        Some(object)
    }

    fn add_to_limbo(&mut self, object: *mut Object) {
        // SAFETY: a link that only the holder of the lock uses.
        unsafe { *(*object).next_spare.get() = self.limbo };
        self.limbo = object;
    }

    fn end_limbo(&mut self) {
        while !self.limbo.is_null() {
            let object = self.limbo;
            // SAFETY: in the limbo list.
            unsafe {
                self.limbo = *(*object).next_spare.get();
                *(*object).next_spare.get() = self.free;
            }
            self.free = object;
        }
    }
}
