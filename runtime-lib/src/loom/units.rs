//! The translation units that registered: their bytes and cells, and which calls between them need no release.
//!
//! A call of a function that may or may not be instrumented goes through a call cell. When all units of a linked
//! object have registered, the cells whose callee some unit defines are set to "runs on": a new object's against all that is
//! known, and what older ones left open against the new object's.
//!
//! An object that is unloaded (dlclose) takes its units back, in its last destructor, while no update is in a round. What lies in
//! a unit is only touched in a round, under the lock here, or by threads that run its code.

use crate::lock::Lock;
use crate::sys;
use core::cell::UnsafeCell;
use core::mem::size_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, AtomicU8, AtomicUsize, Ordering};
use covsched_core::loom::abi::{switch_word, Unit, AT_RUNNING, SWITCH_SLOW, SWITCH_WAIT, VERSION};

/// A registered unit.
#[derive(Clone, Copy)]
struct Known {
    unit: *const Unit,
}

impl Known {
    fn get(&self) -> &'static Unit {
        // SAFETY: registered, and there until it is taken off the list.
        unsafe { &*self.unit }
    }
}

/// An array that grows by mapping more.
struct Array<T> {
    base: *mut T,
    length: usize,
    capacity: usize,
}

impl<T: Copy> Array<T> {
    const EMPTY: Self = Array { base: null_mut(), length: 0, capacity: 0 };

    fn push(&mut self, value: T) -> bool {
        if self.length == self.capacity {
            let capacity = (2 * self.capacity).max(4096 / size_of::<T>());
            let Ok(room) = sys::map_private(capacity * size_of::<T>()) else { return false };
            let room = room.cast::<T>();
            // SAFETY: new room; the old is given back. All under the lock.
            unsafe {
                if self.length > 0 {
                    core::ptr::copy_nonoverlapping(self.base, room, self.length);
                    sys::unmap(self.base.cast(), self.capacity * size_of::<T>());
                }
            }
            (self.base, self.capacity) = (room, capacity);
        }
        // SAFETY: below the capacity.
        unsafe { self.base.add(self.length).write(value) };
        self.length += 1;
        true
    }

    /// Keeps those that are as `is_kept` says, in their order.
    fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        let mut kept = 0;
        let all = self.as_slice();
        for index in 0..all.len() {
            if is_kept(&all[index]) {
                all[kept] = all[index];
                kept += 1;
            }
        }
        self.length = kept;
    }

    fn as_slice(&mut self) -> &mut [T] {
        if self.length == 0 {
            return &mut [];
        }
        // SAFETY: so many have been written.
        unsafe { core::slice::from_raw_parts_mut(self.base, self.length) }
    }
}

/// A set of hashes: open addressing, at most half full. 0 is no hash.
struct Hashes {
    base: *mut u64,
    capacity: usize,
    count: usize,
}

impl Hashes {
    fn place(&self, hash: u64) -> *mut u64 {
        let mut at = hash as usize & (self.capacity - 1);
        loop {
            // SAFETY: below the capacity, a power of two, and some place is free.
            let place = unsafe { self.base.add(at) };
            // SAFETY: as above.
            let found = unsafe { place.read() };
            if found == 0 || found == hash {
                return place;
            }
            at = (at + 1) & (self.capacity - 1);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        // SAFETY: as above.
        self.capacity > 0 && unsafe { self.place(hash).read() } == hash
    }

    /// Room for so many more.
    fn reserve(&mut self, more: usize) -> bool {
        let wanted = ((self.count + more) * 2).next_power_of_two().max(512);
        if wanted <= self.capacity {
            return true;
        }
        let Ok(room) = sys::map_private(wanted * size_of::<u64>()) else { return false };
        let old = Hashes { base: self.base, capacity: self.capacity, count: 0 };
        (self.base, self.capacity) = (room.cast(), wanted);
        for index in 0..old.capacity {
            // SAFETY: inside the old room.
            match unsafe { old.base.add(index).read() } {
                0 => (),
                // SAFETY: a free place.
                hash => unsafe { self.place(hash).write(hash) },
            }
        }
        if old.capacity > 0 {
            sys::unmap(old.base.cast(), old.capacity * size_of::<u64>());
        }
        true
    }

    fn insert(&mut self, hash: u64) {
        let place = self.place(hash);
        // SAFETY: a place in the room.
        unsafe {
            if place.read() == 0 {
                place.write(hash);
                self.count += 1;
            }
        }
    }
}

struct Units {
    known: Array<Known>,
    defined: Hashes,
    /// Threads are asked to pause: every function's byte says so.
    is_waiting: bool,
    /// Bits that all functions have for good: "slow" for a recording or `loom-switch=slow`, "fences" without membarrier.
    first_bits: u8,
}

struct Shelf(UnsafeCell<Units>);

// SAFETY: only touched under LOCK.
unsafe impl Sync for Shelf {}

static LOCK: Lock = Lock::new();
static UNITS: Shelf = Shelf(UnsafeCell::new(Units {
    known: Array::EMPTY,
    defined: Hashes { base: null_mut(), capacity: 0, count: 0 },
    is_waiting: false,
    first_bits: 0,
}));

fn with_units<R>(body: impl FnOnce(&mut Units) -> R) -> R {
    let mask = sys::block_signals();
    LOCK.acquire();
    // SAFETY: under the lock.
    let result = body(unsafe { &mut *UNITS.0.get() });
    LOCK.release();
    sys::restore_signals(mask);
    result
}

/// The word of a function, as the byte that the runtime knows.
#[repr(transparent)]
pub struct Switch(AtomicU64);

impl Switch {
    /// The byte.
    pub fn load(&self) -> u8 {
        self.0.load(Ordering::Relaxed) as u8
    }

    /// Changes the whole word in one step.
    pub fn store(&self, byte: u8, order: Ordering) {
        self.0.store(switch_word(byte), order);
    }
}

/// The switches of a unit's functions.
///
/// # Safety
/// A registered unit.
pub unsafe fn functions(unit: &Unit) -> &'static [Switch] {
    // SAFETY: by the contract; words are shared, so seen as atomic.
    unsafe { atomics(unit.functions.cast(), unit.function_count) }
}

/// The bytes of a unit's locations.
///
/// # Safety
/// A registered unit.
pub unsafe fn locations(unit: &Unit) -> &'static [AtomicU8] {
    // SAFETY: as above.
    unsafe { atomics(unit.locations.cast(), unit.location_count) }
}

/// A unit's slot cells.
///
/// # Safety
/// A registered unit.
pub unsafe fn slots(unit: &Unit) -> &'static [AtomicUsize] {
    // SAFETY: as above.
    unsafe { atomics(unit.slots.cast(), unit.slot_count) }
}

/// # Safety
/// So many of them are there, for good.
unsafe fn atomics<T>(base: *const T, count: u32) -> &'static [T] {
    if count == 0 || base.is_null() {
        return &[];
    }
    // SAFETY: by the contract.
    unsafe { core::slice::from_raw_parts(base, count as usize) }
}

/// Makes the units in `first..after` known.
///
/// # Safety
/// A linked object's section of units.
pub unsafe fn register(first: *const Unit, after: *const Unit) -> Result<(), &'static str> {
    let mut is_foreign = false;
    let is_stored = with_units(|units| {
        let old = units.known.length;
        let mut at = first;
        // SAFETY: by the contract: descriptors one after the other; linkers may leave zeros in between.
        unsafe {
            while (at as usize) + size_of::<Unit>() <= after as usize {
                if at.cast::<u64>().read() == 0 {
                    at = at.byte_add(size_of::<u64>());
                    continue;
                }
                if (*at).version != VERSION || (*at).size as usize != size_of::<Unit>() {
                    is_foreign = true;
                    break;
                }
                if !units.known.push(Known { unit: at }) {
                    return false;
                }
                at = at.add(1);
            }
            units.resolve(old)
        }
    });
    match (is_foreign, is_stored) {
        (true, _) => {
            Err("code that another version of covsched instrumented: its threads are not controlled")
        }
        (_, false) => Err("no memory: threads may be controlled in part only"),
        _ => Ok(()),
    }
}

/// Forgets the units in `first..after`; `body` gets each while it is still there.
pub fn unregister(first: *const Unit, after: *const Unit, mut body: impl FnMut(&'static Unit)) {
    let goes = |known: &&Known| (first..after).contains(&known.unit);
    // Not under the lock: filters end, which asks functions to look.
    while let Some(unit) = with_units(|units| units.known.as_slice().iter().find(goes).map(Known::get)) {
        body(unit);
        with_units(|units| units.known.retain(|known| !core::ptr::eq(known.unit, unit)));
    }
}

impl Units {
    /// Units from `old` on are new.
    unsafe fn resolve(&mut self, old: usize) -> bool {
        let byte = self.first_bits | if self.is_waiting { SWITCH_WAIT } else { 0 };
        let Units { known, defined, .. } = self;
        let known = known.as_slice();
        // SAFETY: registered units: their arrays are there; so below.
        unsafe {
            let counts = known[old..].iter().map(|known| known.get().defined_count as usize);
            if !defined.reserve(counts.sum()) {
                return false;
            }
            for unit in known[old..].iter().map(Known::get) {
                atomics(unit.defined, unit.defined_count).iter().for_each(|&hash| defined.insert(hash));
                if byte != 0 {
                    functions(unit).iter().for_each(|function| function.store(byte, Ordering::Relaxed));
                }
            }
            // Older units are looked at again only where something new has come.
            for unit in known.iter().map(Known::get) {
                let cells = atomics(unit.calls.cast::<AtomicUsize>(), unit.call_count);
                for (cell, &callee) in cells.iter().zip(atomics(unit.callees, unit.call_count)) {
                    if cell.load(Ordering::Relaxed) != AT_RUNNING && defined.contains(callee) {
                        cell.store(AT_RUNNING, Ordering::Relaxed);
                    }
                }
            }
        }
        true
    }
}

/// Looks at all units that are there.
pub fn for_each(mut body: impl FnMut(&'static Unit)) {
    with_units(|units| {
        units.known.as_slice().iter().for_each(|known| body(known.get()));
    });
}

/// The unit with this hash. The same source linked twice into a process is found once for each: `nth`.
pub fn find(hash: u64, nth: usize) -> Option<&'static Unit> {
    with_units(|units| {
        units.known.as_slice().iter().map(Known::get).filter(|unit| unit.hash == hash).nth(nth)
    })
}

/// How many.
pub fn count() -> u32 {
    let mut count = 0;
    for_each(|_| count += 1);
    count
}

/// Unit and number of a location.
pub fn locate(location: usize) -> Option<(u64, u32)> {
    let mut found = None;
    for_each(|unit| {
        let offset = location.wrapping_sub(unit.locations as usize);
        if offset < unit.location_count as usize {
            found = Some((unit.hash, offset as u32));
        }
    });
    found
}

/// Asks all functions to look at what is pending, or no longer.
pub fn set_waiting(is_waiting: bool) {
    with_units(|units| {
        units.is_waiting = is_waiting;
        let there = units.known.as_slice().iter();
        // SAFETY: registered units; only the runtime writes these bytes, under this lock.
        for switch in there.flat_map(|known| unsafe { functions(known.get()) }) {
            let old = switch.load();
            let new = if is_waiting { old | SWITCH_WAIT } else { old & !SWITCH_WAIT };
            if new != old {
                switch.store(new, Ordering::Release);
            }
        }
    });
}

/// Sets or clears "slow" of a function, as `is_slow` says for each unit and number.
pub fn set_slow(mut is_slow: impl FnMut(&Unit, usize) -> bool) {
    with_units(|units| {
        for unit in units.known.as_slice().iter().map(Known::get) {
            // SAFETY: as above.
            for (number, switch) in unsafe { functions(unit) }.iter().enumerate() {
                let old = switch.load();
                let new = if is_slow(unit, number) { old | SWITCH_SLOW } else { old & !SWITCH_SLOW };
                if new != old {
                    switch.store(new, Ordering::Release);
                }
            }
        }
    });
}

/// Functions of units that register have these bits.
pub fn begin_with(bits: u8) {
    with_units(|units| units.first_bits |= bits);
}

/// Before a fork.
pub fn before_fork() {
    LOCK.acquire();
}

/// After it, in the parent.
pub fn after_fork_in_parent() {
    LOCK.release();
}

/// After it, in the child.
pub fn after_fork_in_child() {
    LOCK.reset();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_hashes_finds_what_it_was_given() {
        let mut hashes = Hashes { base: null_mut(), capacity: 0, count: 0 };
        assert!(!hashes.contains(5));
        for round in 0..20u64 {
            assert!(hashes.reserve(100));
            (1..=100).for_each(|number| hashes.insert(round * 100 + number));
        }
        assert!((1..=2000).all(|hash| hashes.contains(hash)));
        assert!(!hashes.contains(2001));
        assert_eq!(hashes.count, 2000);
    }
}
