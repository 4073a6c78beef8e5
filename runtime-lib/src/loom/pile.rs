//! A pile that one thread adds to and takes from, its signal handlers in between, while the engine may look.
//!
//! All zeros is an empty one. It grows by mapping twice the room; what it had is kept, since the engine, or the code that a handler
//! interrupted, may be reading there. A value of [`Entry::EMPTY`] is no entry: a place is reserved first and filled then,
//! so that a handler that adds and takes away in between does no harm.

use crate::sys;
use core::cell::UnsafeCell;
use core::mem::size_of;
use core::sync::atomic::{compiler_fence, AtomicPtr, AtomicUsize, Ordering};

/// What a pile holds.
pub trait Entry: Copy {
    /// No entry; all zeros.
    const EMPTY: Self;
    /// Whether it is that.
    fn is_empty(&self) -> bool;
}

/// The pile.
pub struct Pile<T: Entry, const INSIDE: usize> {
    length: AtomicUsize,
    capacity: AtomicUsize,
    outside: AtomicPtr<T>,
    inside: UnsafeCell<[T; INSIDE]>,
}

// SAFETY: written by its thread only, or while that is paused.
unsafe impl<T: Entry, const INSIDE: usize> Sync for Pile<T, INSIDE> {}

impl<T: Entry, const INSIDE: usize> Pile<T, INSIDE> {
    fn place(&self, index: usize) -> *mut T {
        let outside = self.outside.load(Ordering::Acquire);
        let base = if outside.is_null() { self.inside.get().cast() } else { outside };
        base.wrapping_add(index)
    }

    /// How many entries, empty ones included.
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// The entry at `index < len()`.
    pub fn get(&self, index: usize) -> T {
        // SAFETY: places below the length exist, and stay.
        unsafe { self.place(index).read_volatile() }
    }

    /// Replaces the entry at `index < len()`.
    pub fn set(&self, index: usize, value: T) {
        // SAFETY: as above.
        unsafe { self.place(index).write_volatile(value) };
    }

    /// Adds an entry; false if there is no memory.
    #[must_use]
    pub fn push(&self, value: T) -> bool {
        let length = self.length.load(Ordering::Relaxed);
        let capacity = self.capacity.load(Ordering::Relaxed).max(INSIDE);
        if length == capacity && !self.grow(capacity) {
            return false;
        }
        // Empty until it is filled.
        self.length.store(length + 1, Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        self.set(length, value);
        true
    }

    #[cold]
    fn grow(&self, capacity: usize) -> bool {
        let mask = sys::block_signals();
        let grown = sys::map_private(2 * capacity * size_of::<T>());
        if let Ok(room) = grown {
            let room = room.cast::<T>();
            // SAFETY: new room for twice as many.
            unsafe { core::ptr::copy_nonoverlapping(self.place(0), room, capacity) };
            self.outside.store(room, Ordering::Release);
            self.capacity.store(2 * capacity, Ordering::Relaxed);
        }
        sys::restore_signals(mask);
        grown.is_ok()
    }

    /// Empties the entry at `index`, and forgets empty ones at the top.
    pub fn remove(&self, index: usize) {
        self.set(index, T::EMPTY);
        self.forget_empty();
    }

    /// Forgets everything from `index` on.
    pub fn cut(&self, index: usize) {
        while self.len() > index {
            self.set(self.len() - 1, T::EMPTY);
            self.length.store(self.len() - 1, Ordering::Release);
        }
    }

    fn forget_empty(&self) {
        while self.len() > 0 && self.get(self.len() - 1).is_empty() {
            self.length.store(self.len() - 1, Ordering::Release);
        }
    }

    /// Empty, for another thread. What was mapped is kept.
    pub fn clear(&self) {
        self.cut(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Number(usize);

    impl Entry for Number {
        const EMPTY: Self = Number(0);
        fn is_empty(&self) -> bool {
            self.0 == 0
        }
    }

    #[test]
    fn grows_keeps_and_forgets() {
        // SAFETY: all zeros is an empty pile.
        let pile: Pile<Number, 2> = unsafe { core::mem::zeroed() };
        for number in 1..100 {
            assert!(pile.push(Number(number)));
        }
        assert!((0..99).all(|index| pile.get(index) == Number(index + 1)));
        pile.remove(97);
        assert_eq!(pile.len(), 99);
        pile.remove(98);
        assert_eq!(pile.len(), 97);
        pile.cut(3);
        assert!(pile.push(Number(7)));
        assert_eq!((pile.len(), pile.get(3)), (4, Number(7)));
        pile.clear();
        assert_eq!(pile.len(), 0);
    }
}
