//! What filters have for a slot: a list of operations, in the slot's cell (Wu, Fig. 5.12).

use super::expression::{self, Value, NOTHING};
use super::filter::Filter;
use super::fraction::Moved;
use super::holdings::{Call, Loan};
use super::latch::Taken;
use super::members::{Member, NO_SLOT};
use super::objects::{Name, Object};
use super::wait::Wait;
use super::{alone, block, holdings};
use crate::sys;
use core::sync::atomic::{AtomicUsize, Ordering};
use covsched_core::loom::plan::{
    OpRecord, BY_CALL, NONE, OP_ALONE, OP_DOWN, OP_LEAVE, OP_LOCK, OP_TOGETHER, OP_UNLOCK, OP_UP, TAKES_LOCKS,
};
use covsched_core::loom::wire;

/// An operation, whose filter is installed while the list is in a cell.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Entry {
    /// The filter.
    pub filter: &'static Filter,
    /// What to do.
    pub op: OpRecord,
    /// The filter's id and the operation's number in it: what lists are sorted by.
    pub order: u64,
}

/// A list, followed by its entries.
#[repr(C)]
pub struct List {
    /// The slot's location.
    pub location: usize,
    /// How many entries.
    pub count: usize,
}

impl List {
    /// # Safety
    /// In a block, with its entries behind it.
    unsafe fn entries(&self) -> &[Entry] {
        // SAFETY: by the contract.
        unsafe { core::slice::from_raw_parts((self as *const List).add(1).cast(), self.count) }
    }
}

/// Does what is in the cell. If an update came while the thread waited, goes on with what the cell has now: filters that came have
/// larger ids.
///
/// `stack`: where the function's stack ends.
///
/// # Safety
/// A slot's cell, and its frame.
pub unsafe fn run(member: &Member, cell: usize, frame: *const u64, stack: usize) {
    // SAFETY: by the contract.
    let cell = unsafe { &*(cell as *const AtomicUsize) };
    let mut is_reading = block::begin_reading(member);
    // A handler's stack is below what it interrupted: a slot further in was left by a jump.
    if !is_reading && member.slot_stack.get() <= stack && !sys::is_on_alternate_stack() {
        holdings::abandon(member);
        member.takes.set(false);
        member.waits.store(wire::AT_CALL, Ordering::Relaxed);
        block::end_reading(member, true);
        is_reading = block::begin_reading(member);
    }
    if is_reading {
        member.slot_stack.set(stack);
    }
    let mut done = 0;
    let mut at = cell.load(Ordering::Acquire);
    // SAFETY: a list, which stays while it is read.
    'lists: while let Some(list) = unsafe { (at as *const List).as_ref() } {
        // SAFETY: as above.
        for entry in unsafe { list.entries() } {
            if entry.order <= done {
                continue;
            }
            done = entry.order;
            // SAFETY: by the contract.
            let has_waited =
                entry.filter.is_active() && unsafe { act(member, list.location, entry, frame, stack) };
            let now = cell.load(Ordering::Acquire);
            if has_waited && now != at {
                at = now;
                continue 'lists;
            }
        }
        break;
    }
    if is_reading {
        member.slot_stack.set(NO_SLOT);
    }
    block::end_reading(member, is_reading);
}

/// One operation; whether the thread was released meanwhile.
unsafe fn act(member: &Member, location: usize, entry: &Entry, frame: *const u64, stack: usize) -> bool {
    let Entry { filter, op, .. } = entry;
    filter.operations.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the frame of the slot.
    let value = |at| unsafe { expression::evaluate(filter.code(), at, *filter, frame) };
    let key = (op.key != NONE).then(|| value(op.key).key);
    let constraint = op.constraint;
    let fault = |is_right: bool| {
        if !is_right {
            filter.faults.fetch_add(1, Ordering::Relaxed);
        }
        false
    };
    // On an alternate stack addresses say nothing.
    let is_by_call = op.flags & BY_CALL != 0 && !sys::is_on_alternate_stack();
    let call = if is_by_call { Call { stack, order: entry.order } } else { Call::NONE };
    holdings::end_calls(member, filter, constraint, call);
    match op.kind {
        OP_LOCK => {
            let key = key.unwrap_or(NOTHING.key);
            if holdings::nest(member, filter, constraint, Some(key), call) {
                return false;
            }
            lock(member, filter, location, Name { constraint, step: 0, key }, call)
        }
        OP_UNLOCK => fault(holdings::remove(member, filter, constraint, key)),
        OP_LEAVE if op.flags & BY_CALL != 0 => false,
        OP_LEAVE => {
            holdings::remove_all(member, filter, constraint);
            false
        }
        OP_UP | OP_DOWN => {
            let times = if op.times == NONE { NOTHING } else { value(op.times) };
            let name = Name { constraint, step: u16::from(op.step) + 1, key: key.unwrap_or(NOTHING.key) };
            if op.kind == OP_UP {
                up(member, filter, location, name, times_of(times));
                false
            } else {
                down(member, filter, location, name, times_of(times))
            }
        }
        OP_ALONE => {
            if holdings::nest(member, filter, constraint, None, call) {
                return false;
            }
            let takes_locks = op.flags & TAKES_LOCKS != 0;
            if let Some(loan) = alone::begin(member, filter, constraint, location, takes_locks) {
                let _ = holdings::add(member, filter, constraint, None, call, loan);
            }
            true
        }
        OP_TOGETHER => fault(holdings::remove(member, filter, constraint, None)),
        _ => false,
    }
}

/// n, which may be anything that the program has in a variable.
fn times_of(value: Value) -> u32 {
    (value.last as i64).clamp(1, i64::from(u32::MAX / 2)) as u32
}

/// The object, unless there is no room for it: then the filter ends.
fn object(member: &Member, filter: &Filter, location: usize, name: &Name) -> Option<&'static Object> {
    let found = filter.objects.find(name);
    if found.is_none() {
        filter.break_down(member, location, name.constraint, "found no room for another lock or semaphore");
    }
    found
}

fn lock(member: &Member, filter: &Filter, location: usize, name: Name, call: Call) -> bool {
    let mut has_waited = false;
    let moving = member.moving.get();
    while let Some(object) = object(member, filter, location, &name) {
        if object.latch.is_of(member.number()) {
            // A handler has interrupted the thread while that took it, or gave it back.
            let _ = holdings::add(member, filter, name.constraint, Some(object), call, Loan::Keeps);
            break;
        }
        member.moving.set(object);
        let mut taken = object.latch.try_take(member.number());
        if taken == Taken::No {
            let mut wait = Wait::begin(member, filter, name.constraint, location);
            taken = object.latch.take(member.number(), &mut wait);
            wait.end(taken == Taken::Yes);
            has_waited = true;
        }
        match taken {
            // An update may have taken the filter out by now: then this is nobody's lock.
            Taken::Yes if filter.is_active() => {
                let _ = holdings::add(member, filter, name.constraint, Some(object), call, Loan::No);
                break;
            }
            Taken::Dead => sys::yield_now(),
            Taken::Yes | Taken::No => break,
        }
    }
    member.moving.set(moving);
    has_waited
}

fn up(member: &Member, filter: &Filter, location: usize, name: Name, times: u32) {
    while let Some(object) = object(member, filter, location, &name) {
        let (moved, has_waiters) = object.semaphore().up(times);
        if has_waiters {
            sys::futex_wake(&object.word, i32::MAX as usize);
        }
        if moved != Moved::Dead {
            break;
        }
        sys::yield_now();
    }
}

fn down(member: &Member, filter: &Filter, location: usize, name: Name, times: u32) -> bool {
    let mut has_waited = false;
    while let Some(object) = object(member, filter, location, &name) {
        let mut moved = object.semaphore().try_down(times);
        if moved == Moved::No {
            let mut wait = Wait::begin(member, filter, name.constraint, location);
            moved = object.semaphore().down(times, &mut wait);
            wait.end(moved == Moved::Yes);
            has_waited = true;
        }
        if moved != Moved::Dead {
            break;
        }
        sys::yield_now();
    }
    has_waited
}
