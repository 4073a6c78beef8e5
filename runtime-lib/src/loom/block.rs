//! Memory of filters: mapped blocks, which are unmapped when no slot can be reading them any more.
//!
//! A thread notes, when it begins with a slot, how many blocks and objects had been retired by then ([`begin_reading`]). What was
//! retired before any slot now under way began can go: nobody finds it any more. Between the note and the first
//! read stands the fence of [`super::protocol`]: the engine's membarrier, or a real one.

use super::members::Member;
use super::protocol::FENCES;
use super::words;
use crate::sys;
use core::mem::size_of;
use core::ptr::null_mut;
use core::sync::atomic::{compiler_fence, fence, AtomicU64, Ordering};

/// Head of a block.
#[repr(C, align(64))]
pub struct Block {
    size: usize,
    /// When it was retired.
    retired: u64,
    next: *mut Block,
}

/// The clock of retirements.
static NOW: AtomicU64 = AtomicU64::new(1);

/// A new block with room for `bytes` after its head; zeros.
pub fn map(bytes: usize) -> Option<*mut Block> {
    let size = (size_of::<Block>() + bytes).next_multiple_of(4096);
    let block = sys::map_private(size).ok()?.cast::<Block>();
    // SAFETY: new memory.
    unsafe { (*block).size = size };
    Some(block)
}

/// What comes after the head.
pub fn body(block: *mut Block) -> *mut u8 {
    block.cast::<u8>().wrapping_add(size_of::<Block>())
}

/// Gives a block back that nobody else knows.
pub fn unmap(block: *mut Block) {
    // SAFETY: a block.
    sys::unmap(block.cast(), unsafe { (*block).size });
}

/// A list of retired blocks; the engine's.
pub struct Retired {
    first: *mut Block,
    count: usize,
}

impl Retired {
    /// An empty one.
    pub const fn new() -> Retired {
        Retired { first: null_mut(), count: 0 }
    }

    /// Nobody finds it any more; those who have found it may still be reading.
    pub fn add(&mut self, block: *mut Block) {
        // SAFETY: a block, and only the engine touches these fields.
        unsafe {
            (*block).retired = retire();
            (*block).next = self.first;
        }
        self.first = block;
        self.count += 1;
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Unmaps what is no longer read.
    pub fn collect(&mut self) {
        if self.first.is_null() {
            return;
        }
        let oldest = oldest_reader();
        let mut at: *mut *mut Block = &mut self.first;
        // SAFETY: a list of blocks.
        unsafe {
            while !(*at).is_null() {
                let block = *at;
                if (*block).retired <= oldest {
                    *at = (*block).next;
                    self.count -= 1;
                    unmap(block);
                } else {
                    at = &mut (*block).next;
                }
            }
        }
    }
}

/// Something has just become impossible to find: the time of that.
pub fn retire() -> u64 {
    NOW.fetch_add(1, Ordering::AcqRel) + 1
}

/// What was retired up to this time is not being read.
pub fn oldest_reader() -> u64 {
    let now = NOW.load(Ordering::Acquire);
    fence(Ordering::SeqCst);
    super::barrier();
    let mut oldest = now;
    super::members::for_each(|member| match member.in_slot.load(Ordering::Acquire) {
        0 => (),
        since => oldest = oldest.min(since),
    });
    oldest
}

/// The thread begins to read; false if it is doing so already.
#[inline]
pub fn begin_reading(member: &Member) -> bool {
    if member.in_slot.load(Ordering::Relaxed) != 0 {
        return false;
    }
    member.in_slot.store(NOW.load(Ordering::Acquire), Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    if words::PENDING.load(Ordering::Relaxed) & FENCES != 0 {
        fence(Ordering::SeqCst);
    }
    true
}

/// It has ended.
#[inline]
pub fn end_reading(member: &Member, has_begun: bool) {
    if has_begun {
        member.in_slot.store(0, Ordering::Release);
    }
}
