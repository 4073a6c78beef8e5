//! The hooks that the pass adds: entry and exit of thread functions, the stack of derived calls, registration.
//!
//! A thread function may also be called directly, by another thread function or recursively: only the
//! outermost call, the first in its thread, is the thread's entry.

use crate::gate::{self, Event};
use crate::log::Own;
use crate::threads::{current, Thread};
use crate::{enforce, epoch, exports, meta, sys};
use core::cell::UnsafeCell;
#[cfg(test)]
use core::ptr::null_mut;
use core::slice;
use covsched_core::hooks::Op;
use covsched_core::site::{Registration, ALL_MARKERS, NO_DERIVED_MARKERS, VERSION};
use covsched_core::{Clock, SiteId};
use libc::{c_int, c_void};

/// Calls that may synchronize and that a thread is in, outermost first. Those below `written` have been
/// recorded, since something synchronized inside of them.
pub struct DerivedStack {
    depth: Own<u32>,
    written: Own<u32>,
    /// All of them as one number, whether recorded or not.
    hash: Own<u64>,
    /// 0: `near` is in use.
    far_capacity: Own<u32>,
    far: Own<*mut Entered>,
    near: UnsafeCell<[Entered; NEAR]>,
}

const NEAR: usize = 256;

/// A call on the stack.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entered {
    site: u64,
    /// The stack's number before it, so that going back is one load.
    hash_before: u64,
}

impl DerivedStack {
    /// Empties it.
    pub fn clear(&self) {
        self.depth.set(0);
        self.written.set(0);
        self.hash.set(0);
    }

    /// How many calls there are.
    #[inline(always)]
    pub fn depth(&self) -> u32 {
        self.depth.get()
    }

    /// The calls as one number: see [`epoch::with_call`].
    #[inline(always)]
    pub fn hash(&self) -> u64 {
        self.hash.get()
    }

    /// Whether something on it has not been recorded.
    #[inline(always)]
    pub fn has_unwritten(&self) -> bool {
        self.depth.get() > self.written.get()
    }

    fn slot(&self, at: u32) -> Option<*mut Entered> {
        let (base, capacity) = match self.far_capacity.get() {
            0 => (self.near.get().cast::<Entered>(), NEAR as u32),
            capacity => (self.far.get(), capacity),
        };
        // SAFETY: inside the array.
        (at < capacity).then(|| unsafe { base.add(at as usize) })
    }

    /// Enters a call; the depth before it.
    pub fn push(&self, site: SiteId) -> u32 {
        let depth = self.depth.get();
        if self.slot(depth).is_none() {
            self.grow();
        }
        let slot = self.slot(depth);
        let entered = Entered { site: site.0, hash_before: self.hash.get() };
        let is_hashed = epoch::has_epochs();
        // A signal handler between the two may use the same slot and be done with it before we go on: so once
        // before the depth says that it is taken, for a handler that records, and once after.
        let write = |slot: *mut Entered| {
            // SAFETY: a slot of ours.
            unsafe {
                (&raw mut (*slot).site).write_volatile(entered.site);
                if is_hashed {
                    (&raw mut (*slot).hash_before).write_volatile(entered.hash_before);
                }
            }
        };
        slot.map(write);
        self.depth.set(depth + 1);
        slot.map(write);
        if is_hashed {
            self.hash.set(epoch::with_call(entered.hash_before, site));
        }
        depth
    }

    /// Goes back to a depth.
    pub fn pop_to(&self, depth: u32) {
        // An exception or longjmp may have left several; never grows.
        if depth < self.depth.get() {
            self.depth.set(depth);
            if let Some(slot) = self.slot(depth).filter(|_| epoch::has_epochs()) {
                // SAFETY: a slot of ours, written when it was pushed.
                self.hash.set(unsafe { (*slot).hash_before });
            }
        }
        if depth < self.written.get() {
            self.written.set(depth);
        }
    }

    /// Gives every site that has not been recorded.
    pub fn take_unwritten(&self, mut give: impl FnMut(u32, SiteId)) {
        let (from, to) = (self.written.get(), self.depth.get());
        self.written.set(to);
        for at in from..to {
            if let Some(slot) = self.slot(at) {
                // SAFETY: a slot of ours, written when it was pushed.
                give(at, SiteId(unsafe { (*slot).site }));
            }
        }
    }

    /// Twice the room. Without memory, what is deeper is counted but not recorded.
    #[cold]
    fn grow(&self) {
        let mask = sys::block_signals();
        let old = self.far_capacity.get();
        let capacity = if old == 0 { 2 * NEAR } else { 2 * old as usize };
        match sys::map_private(capacity * size_of::<Entered>()) {
            Ok(memory) => {
                let memory = memory.cast::<Entered>();
                let filled = if old == 0 { NEAR } else { old as usize };
                let from = if old == 0 { self.near.get().cast::<Entered>() } else { self.far.get() };
                // SAFETY: both are arrays of at least that many entries.
                unsafe { from.copy_to_nonoverlapping(memory, filled) };
                // The old array stays mapped: this may be a signal handler that interrupted somebody who reads it.
                self.far.set(memory);
                self.far_capacity.set(capacity as u32);
            }
            Err(_) => meta::note_lost_records(),
        }
        sys::restore_signals(mask);
    }

    /// An empty one.
    #[cfg(test)]
    fn new() -> DerivedStack {
        DerivedStack {
            depth: Own::new(0),
            written: Own::new(0),
            hash: Own::new(0),
            far_capacity: Own::new(0),
            far: Own::new(null_mut()),
            near: UnsafeCell::new([Entered { site: 0, hash_before: 0 }; NEAR]),
        }
    }
}

fn enter(thread: &Thread, site: SiteId) {
    thread.entry_site.set(site);
    flow_event(thread, Event::new(Op::entry, site, 0).result(0));
}

/// The thread's function is over, or the thread itself.
pub fn leave(thread: &Thread, site: SiteId) {
    flow_event(thread, Event::new(Op::leave, site, 0).result(0));
}

/// An event that orders nothing but its own thread.
fn flow_event(thread: &Thread, event: Event) {
    let step = enforce::arrive(thread, event);
    gate::completed(thread, Clock(0), event);
    if let Some(step) = step {
        enforce::done(thread, step);
    }
}

/// Main begins.
pub unsafe fn main_enter(site: SiteId) -> c_int {
    let Some(thread) = current().filter(|thread| thread.take_pending_main()) else { return 0 };
    enter(thread, site);
    1
}

/// A function that may be a thread's begins.
pub unsafe fn thread_enter(site: SiteId) -> c_int {
    let Some(thread) = current().filter(|thread| thread.take_pending_entry()) else { return 0 };
    enter(thread, site);
    1
}

/// It returns.
pub unsafe fn thread_exit(outermost: c_int, site: SiteId) {
    if outermost == 0 {
        return;
    }
    if let Some(thread) = current().filter(|thread| !thread.left.get()) {
        thread.left.set(true);
        leave(thread, site);
        if thread.is_main.get() {
            epoch::process_ends(thread);
        }
    }
}

/// A call that may synchronize is about to be made.
pub unsafe fn derived_enter(site: SiteId) -> c_int {
    // A plan has no derived calls.
    if !keeps_stack() {
        return 0;
    }
    current().map_or(0, |thread| thread.derived.push(site) as c_int)
}

/// It returned, or was left in another way.
pub unsafe fn derived_leave(depth: c_int) {
    if !keeps_stack() {
        return;
    }
    if let Some(thread) = current() {
        thread.derived.pop_to(depth as u32);
        epoch::derived_depth_is(thread, depth as u32);
    }
}

/// The depth now.
pub unsafe fn derived_depth() -> c_int {
    if !keeps_stack() {
        return 0;
    }
    current().map_or(0, |thread| thread.derived.depth.get() as c_int)
}

/// Whether anybody wants to know the calls that a thread is in.
#[inline(always)]
pub fn keeps_stack() -> bool {
    exports::is_recording() || exports::is_barrier()
}

/// A linked object tells of itself, from its constructor.
pub unsafe fn register(registration: *mut c_void) {
    let registration = registration.cast::<Registration>().cast_const();
    // SAFETY: the pass made it; these two fields are first in every version.
    let (version, size) = unsafe { ((*registration).version, (*registration).size) };
    if version != VERSION || size as usize != size_of::<Registration>() {
        sys::write_error(&[
            "covsched: an object of this program was compiled by another version of covsched; ",
            "its sites are unknown\n",
        ]);
        return;
    }
    // SAFETY: a registration of our version, in the object's data.
    unsafe {
        let registration = &*registration;
        let length = (registration.sites_end as usize).saturating_sub(registration.sites as usize);
        if length != 0 && keeps_stack() {
            epoch::register(slice::from_raw_parts(registration.sites, length));
        }
        if length != 0 && exports::is_recording() {
            meta::add_object(slice::from_raw_parts(registration.sites, length));
        }
        *registration.active = if keeps_stack() { ALL_MARKERS } else { NO_DERIVED_MARKERS };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unwritten(stack: &DerivedStack) -> Vec<u64> {
        let mut sites = Vec::new();
        stack.take_unwritten(|_, site| sites.push(site.0));
        sites
    }

    #[test]
    fn each_call_is_given_once_for_as_long_as_it_lasts() {
        let stack = DerivedStack::new();
        assert_eq!(stack.push(SiteId(1)), 0);
        assert_eq!(stack.push(SiteId(2)), 1);
        assert_eq!(unwritten(&stack), [1, 2]);
        assert_eq!(unwritten(&stack), []);
        assert_eq!(stack.push(SiteId(3)), 2);
        assert_eq!(unwritten(&stack), [3]);
        stack.pop_to(1);
        assert_eq!(stack.push(SiteId(4)), 1);
        assert_eq!(unwritten(&stack), [4]);
        stack.pop_to(0);
        assert!(!stack.has_unwritten());
        stack.pop_to(7);
        assert!(!stack.has_unwritten());
    }

    #[test]
    fn the_number_of_the_stack_is_that_of_the_calls_on_it() {
        let stack = DerivedStack::new();
        assert_eq!(stack.hash(), 0);
        stack.push(SiteId(7));
        let outer = stack.hash();
        stack.push(SiteId(8));
        let inner = stack.hash();
        for site in 0..1000 {
            stack.push(SiteId(site));
        }
        stack.pop_to(2);
        assert_eq!(stack.hash(), inner);
        stack.pop_to(1);
        assert_eq!(stack.hash(), outer);
        stack.push(SiteId(9));
        assert_ne!(stack.hash(), inner);
        stack.pop_to(0);
        assert_eq!(stack.hash(), 0);
    }

    #[test]
    fn deep_recursion_is_kept() {
        let stack = DerivedStack::new();
        for site in 0..5000 {
            stack.push(SiteId(site));
        }
        assert_eq!(unwritten(&stack), (0..5000).collect::<Vec<_>>());
        stack.pop_to(10);
        stack.push(SiteId(9));
        assert_eq!(unwritten(&stack), [9]);
    }
}
