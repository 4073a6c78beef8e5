//! Which object of the plan is at which address.
//!
//! An object is bound to an address at its init or its first use, and looked up by number from then on: one load a
//! step. Of a variable of the executable the plan knows the address. On another input two objects may have become one, or one two: what does not agree is a divergence.
//!
//! Objects without a name and without an init in the schedule (a `std::mutex` on the heap) have no visible lifetime:
//! what the recording saw as one may have been several in the same memory, and several may share memory
//! now. They may move when they are acquired, not while they are held; and they give way. The plan's
//! order holds for them all the same.

use super::{divergence, plan};
use crate::gate::Event;
use crate::lock::Lock;
use crate::log::Own;
use crate::sys;
use crate::threads::Thread;
use core::slice;
use core::sync::atomic::{AtomicUsize, Ordering};
use covsched_core::hash::mix;
use covsched_core::hooks::Effect;
use covsched_core::plan::{DivergenceKind, Step, OBJECT_FIXED, OBJECT_STATIC};
use covsched_core::rawlog::RESULT_PENDING;

/// By object: its address, 0 before it has one.
static PLACES: Own<&'static [AtomicUsize]> = Own::new(&[]);
/// By address, open addressing: who is there. Under the lock.
static TENANTS: Own<&'static [Tenant]> = Own::new(&[]);
static LOCK: Lock = Lock::new();

/// "Has been somewhere" in [`PLACES`]: no address of an object.
const DISPLACED: usize = 1;

/// Who is at an address. All zeros is nobody.
struct Tenant {
    address: Own<usize>,
    object: Own<u32>,
}

/// Makes the tables for so many objects.
pub fn start(objects: usize) -> bool {
    // At most half full: an object is at one address at most.
    let room = (2 * objects + 2).next_power_of_two();
    let bytes = objects * size_of::<AtomicUsize>() + room * size_of::<Tenant>();
    let Ok(memory) = sys::map_private(bytes) else { return false };
    // SAFETY: a new mapping of that size, for good; zeros are valid for both.
    unsafe {
        TENANTS.set(slice::from_raw_parts(memory.cast(), room));
        PLACES.set(slice::from_raw_parts(memory.add(room * size_of::<Tenant>()).cast(), objects));
    }
    true
}

/// Whether the object is known to be at this address; true for operations without an object.
#[inline(always)]
pub fn is_at(object: u32, address: usize) -> bool {
    address == 0
        || PLACES.get().get(object as usize).is_some_and(|place| place.load(Ordering::Relaxed) == address)
}

/// Which object is at an address, or [`covsched_core::plan::NONE`].
pub fn tenant_of(address: usize) -> u32 {
    let tenant = alone(|| find(address).map(|at| TENANTS.get()[at].object.get()));
    tenant.unwrap_or_else(|| plan::object_known_at(address))
}

/// Runs `body` under the lock. A signal handler that posts a semaphore comes here too.
fn alone<R>(body: impl FnOnce() -> R) -> R {
    let mask = sys::block_signals();
    LOCK.acquire();
    let result = body();
    LOCK.release();
    sys::restore_signals(mask);
    result
}

/// Whether the object is known to be elsewhere, for good: no turn needs to be waited for.
#[inline(always)]
pub fn is_elsewhere(step: &Step, event: &Event) -> bool {
    let Some(place) = PLACES.get().get(step.object as usize) else { return false };
    let place = place.load(Ordering::Relaxed);
    event.op.effect() != Effect::Init
        && place > DISPLACED
        && place != event.object
        && plan::object_flags(step.object) & OBJECT_FIXED != 0
}

/// When its turn has come: the step's object turns out to be at another address than known. True if that can be.
/// False: it is a divergence, which has been reported.
#[cold]
pub fn bind(thread: &Thread, step: &'static Step, event: &Event) -> bool {
    // What fails does nothing with the object, and may have been another that was in its place.
    let does_nothing = !matches!(step.result, 0 | RESULT_PENDING | libc::EOWNERDEAD);
    if does_nothing && plan::object_flags(step.object) & OBJECT_FIXED == 0 {
        return true;
    }
    bind_object(thread, step.object, event.op.effect(), event.object, event)
}

/// As [`bind`], for the mutex of a condition wait.
#[cold]
pub fn bind_mutex(thread: &Thread, object: u32, address: usize, event: &Event) -> bool {
    // It is held: it cannot have moved since.
    bind_object(thread, object, Effect::Release, address, &Event { object: address, ..*event })
}

fn bind_object(thread: &Thread, object: u32, effect: Effect, address: usize, event: &Event) -> bool {
    let may_be = alone(|| {
        // Another thread may have come to know it at the same time.
        if effect != Effect::Init && is_at(object, address) {
            return true;
        }
        let may_be = may_be_at(object, effect, address);
        if may_be {
            if let Some(at) = find(address) {
                let displaced = TENANTS.get()[at].object.get();
                PLACES.get()[displaced as usize].store(DISPLACED, Ordering::Relaxed);
                remove(at);
            }
            vacate(object);
            insert(address, object);
        }
        may_be
    });
    if !may_be {
        divergence::found(thread, DivergenceKind::OtherObject, event);
    }
    may_be
}

fn may_be_at(object: u32, effect: Effect, address: usize) -> bool {
    let Some(place) = PLACES.get().get(object as usize) else {
        // The step has no object: a sem_open that failed, and now did not.
        return false;
    };
    let (place, flags) = (place.load(Ordering::Relaxed), plan::object_flags(object));
    if plan::object_address(object).is_some_and(|wanted| wanted != address) {
        return false;
    }
    if effect == Effect::Init {
        // A new life. What was here before is gone, destroyed or not.
        return true;
    }
    let is_new = place == 0;
    let is_fixed = flags & OBJECT_FIXED != 0;
    let begins_use = !matches!(effect, Effect::Release | Effect::Destroy);
    if !is_new && (is_fixed || !begins_use) {
        return false;
    }
    // Memory of its own is never another's; other memory is, when that is gone.
    let is_own = |flags: u32| flags & OBJECT_STATIC != 0;
    find(address)
        .is_none_or(|at| !is_own(plan::object_flags(TENANTS.get()[at].object.get())) && !is_own(flags))
}

/// The object has been destroyed: its memory may be another's.
pub fn ended(step: &'static Step) {
    alone(|| {
        vacate(step.object);
        if let Some(place) = PLACES.get().get(step.object as usize) {
            place.store(DISPLACED, Ordering::Relaxed);
        }
    });
}

/// Forgets where the object was. Under the lock, as all below.
fn vacate(object: u32) {
    let Some(place) = PLACES.get().get(object as usize) else { return };
    let address = place.load(Ordering::Relaxed);
    if let Some(at) = find(address).filter(|&at| TENANTS.get()[at].object.get() == object) {
        remove(at);
    }
}

fn insert(address: usize, object: u32) {
    let tenants = TENANTS.get();
    let mut at = home(address);
    while tenants[at].address.get() != 0 {
        at = (at + 1) % tenants.len();
    }
    tenants[at].address.set(address);
    tenants[at].object.set(object);
    PLACES.get()[object as usize].store(address, Ordering::Relaxed);
}

fn home(address: usize) -> usize {
    mix(address as u64) as usize % TENANTS.get().len()
}

fn find(address: usize) -> Option<usize> {
    let tenants = TENANTS.get();
    if address <= DISPLACED || tenants.is_empty() {
        return None;
    }
    let mut at = home(address);
    loop {
        match tenants[at].address.get() {
            0 => return None,
            here if here == address => return Some(at),
            _ => at = (at + 1) % tenants.len(),
        }
    }
}

/// Takes a tenant out and closes the gap, so that every search still ends at a free place.
fn remove(mut gap: usize) {
    let tenants = TENANTS.get();
    let room = tenants.len();
    let mut at = gap;
    loop {
        at = (at + 1) % room;
        let address = tenants[at].address.get();
        if address == 0 {
            break;
        }
        // May it move into the gap? Only if its home is not between the gap and its place.
        let (distance_home, distance_gap) = ((at + room - home(address)) % room, (at + room - gap) % room);
        if distance_home >= distance_gap {
            tenants[gap].address.set(address);
            tenants[gap].object.set(tenants[at].object.get());
            gap = at;
        }
    }
    tenants[gap].address.set(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::plan::NONE;

    #[test]
    fn tenants_come_and_go() {
        assert!(start(200));
        let address = |n: usize| 0x1000 + n * 8;
        for object in 0..200u32 {
            insert(address(object as usize), object);
        }
        for object in (0..200u32).step_by(3) {
            vacate(object);
        }
        for object in 0..200u32 {
            let expected = if object % 3 == 0 { NONE } else { object };
            assert_eq!(tenant_of(address(object as usize)), expected);
            assert!(is_at(object, address(object as usize)));
        }
        assert!(is_at(NONE, 0) && !is_at(NONE, 8) && !is_at(5, 8));
    }
}
