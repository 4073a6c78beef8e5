//! What threads hold of filters: so that a lock is released by who took it, and by a thread that ends.
//!
//! A thread changes its own holdings while it runs; the engine, those of threads that are paused or gone.
//!
//! # Handlers
//! A lock is taken before that is noted, and forgotten before it is given back. A signal handler in between finds it the thread's, though
//! not among its holdings: it may use it, and must leave it to the code that it interrupted ([`Loan`]). If that code never goes on,
//! since the handler jumped away or the thread was cancelled, [`abandon`] gives the lock back.

use super::filter::Filter;
use super::members::{self, Member};
use super::objects::Object;
use super::pile::Entry;
use super::{alone, wait};
use core::ptr::null;

/// A lock that a thread holds, or that it runs alone.
#[derive(Clone, Copy)]
pub struct Holding {
    filter: *const Filter,
    /// Null: it runs alone.
    object: *const Object,
    constraint: u16,
    /// How often it took it.
    depth: u32,
    /// The call that took it, if it ends with that.
    call: Call,
    loan: Loan,
}

/// Whether a holding is that of the code which a handler interrupted.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Loan {
    /// It is not: it is given back at its end.
    No,
    /// Nothing is given back.
    Keeps,
    /// Other threads, which the interrupted code had not asked to pause, go on.
    LetsOthersRun,
}

/// A call of a function that is a region.
#[derive(Clone, Copy)]
pub struct Call {
    /// Where its stack ends: calls that it makes are below.
    pub stack: usize,
    /// The operation at its entry; another's if it is no entry that is asked for.
    pub order: u64,
}

impl Call {
    /// None.
    pub const NONE: Call = Call { stack: 0, order: 0 };

    fn is_one(&self) -> bool {
        self.stack != 0
    }
}

impl Entry for Holding {
    const EMPTY: Self =
        Holding { filter: null(), object: null(), constraint: 0, depth: 0, call: Call::NONE, loan: Loan::No };
    fn is_empty(&self) -> bool {
        self.filter.is_null()
    }
}

impl Holding {
    fn is_of(&self, filter: &Filter, constraint: u16) -> bool {
        core::ptr::eq(self.filter, filter) && self.constraint == constraint
    }

    fn give_back(&self, member: &Member) {
        // SAFETY: objects of installed filters stay while they are held.
        match (unsafe { self.object.as_ref() }, self.loan) {
            (Some(object), Loan::No) => give_back(object),
            (None, Loan::LetsOthersRun) => alone::let_others_run(member),
            (None, Loan::No) => alone::region_ended(member, self.filter, self.constraint),
            _ => (),
        }
    }
}

fn give_back(object: &Object) {
    wait::wake(&object.latch.word, object.latch.give_back());
}

/// The thread's holding, the newest first; with a key, the one of that key.
fn find(member: &Member, filter: &Filter, constraint: u16, key: Option<[u64; 2]>) -> Option<usize> {
    (0..member.holdings.len()).rev().find(|&index| {
        let holding = member.holdings.get(index);
        // SAFETY: as above.
        let has_key = |key| unsafe { holding.object.as_ref() }.is_some_and(|object| object.name().key == key);
        holding.is_of(filter, constraint) && key.is_none_or(has_key)
    })
}

/// The thread has taken it. Without memory to note that, it is given back: false.
#[must_use]
pub fn add(
    member: &Member,
    filter: &Filter,
    constraint: u16,
    object: Option<&Object>,
    call: Call,
    loan: Loan,
) -> bool {
    let object = object.map_or(null(), |object| object as *const Object);
    let holding = Holding { filter, object, constraint, depth: 1, call, loan };
    let is_noted = member.holdings.push(holding);
    if !is_noted {
        holding.give_back(member);
    }
    is_noted
}

/// Takes again what the thread has; false if it does not have it.
pub fn nest(member: &Member, filter: &Filter, constraint: u16, key: Option<[u64; 2]>, call: Call) -> bool {
    let Some(index) = find(member, filter, constraint, key) else { return false };
    let mut holding = member.holdings.get(index);
    // What ends with a call is noted for each. Without memory, the one that has it already does for both.
    let is_apart = call.is_one() || holding.call.is_one();
    if is_apart && member.holdings.push(Holding { depth: 1, call, ..holding }) {
        return true;
    }
    holding.depth += 1;
    member.holdings.set(index, holding);
    true
}

/// Gives back once; false if the thread does not have it.
pub fn remove(member: &Member, filter: &Filter, constraint: u16, key: Option<[u64; 2]>) -> bool {
    let Some(index) = find(member, filter, constraint, key) else { return false };
    let mut holding = member.holdings.get(index);
    holding.depth -= 1;
    if holding.depth > 0 {
        member.holdings.set(index, holding);
    } else {
        forget(member, index);
    }
    true
}

/// What is noted there is over; it is given back if nothing else says that the thread has it.
fn forget(member: &Member, index: usize) {
    let holding = member.holdings.get(index);
    let before = member.moving.get();
    member.moving.set(holding.object);
    member.holdings.remove(index);
    if holding.object.is_null() || !has(member, holding.object) {
        holding.give_back(member);
    }
    member.moving.set(before);
}

/// Whether the thread has noted that a lock is its own.
fn has(member: &Member, object: *const Object) -> bool {
    let is_it = |holding: Holding| core::ptr::eq(holding.object, object) && holding.loan == Loan::No;
    (0..member.holdings.len()).rev().any(|index| is_it(member.holdings.get(index)))
}

/// What the thread was doing in a slot will not go on: what it has without having noted so is given back. It is in no handler of
/// that, or has ended.
pub fn abandon(member: &Member) {
    for index in (0..member.holdings.len()).rev() {
        if member.holdings.get(index).loan != Loan::No {
            member.holdings.remove(index);
        }
    }
    let object = member.moving.get();
    member.moving.set(null());
    // SAFETY: the thread has counted as reading since it was set.
    if let Some(object) = unsafe { object.as_ref() }.filter(|&object| !has(member, object)) {
        if let Some(who) = object.latch.give_back_of(member.number()) {
            wait::wake(&object.latch.word, who);
        }
    }
    if alone::is_under_way(member) {
        alone::end(member);
    }
}

/// A thread is in a call, at its entry if the operation is of one: calls that it made are over, though they did not say so, for an
/// exception passed them. So is one that was entered in the same place.
pub fn end_calls(member: &Member, filter: &Filter, constraint: u16, now: Call) {
    if !now.is_one() {
        return;
    }
    for index in (0..member.holdings.len()).rev() {
        let holding = member.holdings.get(index);
        let call = holding.call;
        if !call.is_one() || !holding.is_of(filter, constraint) {
            continue;
        }
        let is_over = call.stack < now.stack || (call.stack, call.order) == (now.stack, now.order);
        // Below in the pile are calls further out.
        if !is_over {
            break;
        }
        forget(member, index);
    }
}

/// Gives back all that the thread has of a constraint.
pub fn remove_all(member: &Member, filter: &Filter, constraint: u16) {
    while let Some(index) = find(member, filter, constraint, None) {
        forget(member, index);
    }
}

/// Whether the thread is in a region in which it runs alone, of a filter and constraint that `is_meant`.
pub fn is_alone(member: &Member, is_meant: impl Fn(*const Filter, u16) -> bool) -> bool {
    (0..member.holdings.len()).any(|index| {
        let holding = member.holdings.get(index);
        !holding.is_empty() && holding.object.is_null() && is_meant(holding.filter, holding.constraint)
    })
}

/// Everything that a thread holds is released.
pub fn release_all(member: &Member) {
    while let Some(index) = member.holdings.len().checked_sub(1) {
        if member.holdings.get(index).is_empty() {
            member.holdings.remove(index);
        } else {
            forget(member, index);
        }
    }
}

/// The filter goes, and has ended: nobody holds anything of it any more. All threads are paused.
pub fn purge(filter: &Filter) {
    members::for_each(|member| {
        for index in (0..member.holdings.len()).rev() {
            let holding = member.holdings.get(index);
            if core::ptr::eq(holding.filter, filter) {
                member.holdings.remove(index);
            }
        }
    });
}
