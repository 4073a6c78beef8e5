//! One thread runs, all others are paused: regions that exclude everything (`r <> *`, Wu 5.2.3), with the same mechanism that updates use.
//!
//! A thread that wants to run alone first waits for its turn, then asks all others to pause, wherever that is, and waits until none runs;
//! it is released meanwhile, so that an update can come in between. Then it runs, through blocking calls too:
//! what asks the others to pause does not concern it. A region that takes longer than its filter's timeout, or that
//! waits for what no other can give it, ends the filter: a thread that is paused notices.
//!
//! # Locks
//! A region may need a lock that another thread has. If it takes any, threads that may hold one get some time to give it back before
//! they pause ([`protocol::ALONE_GO_ON`]); one that blocks with a lock counts as paused all the same. And if the region's thread
//! blocks where it may be waiting for a lock, or for one of a filter's, those who may hold some go on until they do not: a thread
//! that is paused sees that. Before the region's thread goes on, all others are paused again. So between two of its blocking calls
//! nobody else runs; in one, threads with locks may.

use super::filter::Filter;
use super::heir::Heir;
use super::holdings::Loan;
use super::latch::{Latch, Taken};
use super::members::{self, Member, NO_SLOT};
use super::protocol::{self, Shared};
use super::wait::{self, Wait};
use super::{block, holdings, units, with_control, words, GATE};
use crate::sys;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use covsched_core::loom::wire;

/// Nanoseconds for which those who may hold a lock are waited for before they pause with it.
const HOLDERS_TIME: u64 = 1_000_000;
/// Nanoseconds after which who may hold a lock looks again whether that is wanted, and for which it must have been, at least.
const LOOK_AT_OWNER_EVERY: u64 = 1_000_000;

/// Whose turn it is.
static TURN: Latch =
    Latch { word: AtomicU32::new(0), releases: AtomicU32::new(0), heir: Heir(AtomicU64::new(0)) };
/// The member that others are paused for; 0: none.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// Its filter, constraint and slot; the filter is installed while this is not null.
static FILTER: AtomicPtr<Filter> = AtomicPtr::new(null_mut());
static CONSTRAINT: AtomicU32 = AtomicU32::new(0);
static LOCATION: AtomicUsize = AtomicUsize::new(0);
/// When a paused thread last looked whether that takes too long, and for how long they have looked in vain, as [`wait`] counts.
static LOOKED: AtomicU64 = AtomicU64::new(0);
static WAITED: AtomicU64 = AtomicU64::new(0);
/// Its region takes locks of the program.
static TAKES_LOCKS: AtomicBool = AtomicBool::new(false);
/// Since when it has been seen to wait for a lock; 0: it was not, when somebody looked last.
static BLOCKED_SINCE: AtomicU64 = AtomicU64::new(0);

/// Whether this is the thread that runs alone.
pub fn is_owner(member: &Member) -> bool {
    OWNER.load(Ordering::Acquire) == member.number()
}

/// Whether it is the thread's turn though it has not noted so: it begins or ends to run alone, and this is a handler that interrupted it, or
/// it will not go on with that.
pub fn is_under_way(member: &Member) -> bool {
    TURN.is_of(member.number()) && !holdings::has_alone(member)
}

/// The thread, at a slot, becomes the only one that runs. `None` if its filter ended meanwhile.
pub fn begin(
    member: &Member,
    filter: &Filter,
    constraint: u16,
    location: usize,
    takes_locks: bool,
) -> Option<Loan> {
    let is_loan = is_under_way(member);
    let was_owner = is_owner(member);
    if was_owner {
        TAKES_LOCKS.fetch_or(takes_locks, Ordering::Relaxed);
        if !is_loan {
            return Some(Loan::No);
        }
    }
    let mut wait = Wait::begin(member, filter, constraint, location);
    let is_turn = is_loan || TURN.take(member.number(), &mut wait) == Taken::Yes;
    if is_turn && !was_owner {
        with_control(|| {
            FILTER.store((filter as *const Filter).cast_mut(), Ordering::Relaxed);
            CONSTRAINT.store(constraint.into(), Ordering::Relaxed);
            LOCATION.store(location, Ordering::Relaxed);
            LOOKED.store(sys::monotonic_nanoseconds(), Ordering::Relaxed);
            WAITED.store(0, Ordering::Relaxed);
            TAKES_LOCKS.store(takes_locks, Ordering::Relaxed);
            OWNER.store(member.number(), Ordering::Release);
            units::set_waiting(true);
            let holders = if takes_locks { protocol::ALONE_GO_ON } else { 0 };
            GATE.request(protocol::ALONE | protocol::ALONE_GATHERS | holders, 0);
        });
    }
    if is_turn {
        wait.goes_on();
        gather(member, &mut wait);
    }
    wait.end(is_turn);
    let loan = match (is_loan, was_owner) {
        (false, _) => Loan::No,
        (true, true) => Loan::Keeps,
        (true, false) => Loan::LetsOthersRun,
    };
    if !filter.is_active() {
        match loan {
            Loan::No => end(member),
            Loan::Keeps => (),
            Loan::LetsOthersRun => let_others_run(member),
        }
        return None;
    }
    is_turn.then_some(loan)
}

/// The owner, which is released, waits until all others are paused, or the wait is over.
fn gather(member: &Member, wait: &mut Wait<'_>) {
    wait.is_for_no_lock();
    let begun = sys::monotonic_nanoseconds();
    let is_paused_or_own =
        |other: &'static Member| core::ptr::eq(other, member) || protocol::released_at(other).is_some();
    let mut looks = 0u32;
    while is_pending(protocol::ALONE_GATHERS) && is_owner(member) && !wait.is_over() {
        let go_on = is_pending(protocol::ALONE_GO_ON);
        let are_paused = members::all(is_paused_or_own);
        let is_late = || sys::monotonic_nanoseconds() > begun + HOLDERS_TIME;
        if go_on && (are_paused || is_late()) {
            // One may have gone on before it saw that.
            as_owner(member, || GATE.take_back(protocol::ALONE_GO_ON));
        } else if !go_on && are_paused {
            as_owner(member, || protocol::all_are_gathered(&GATE));
        } else {
            looks += 1;
            super::wait_a_little(looks);
            if looks % 256 == 0 {
                members::forget_vanished();
            }
        }
    }
}

/// The thread runs again, after it was released at `location`. If it runs alone, and others have been let go, it waits until all are
/// paused again.
pub fn gather_again(member: &Member, location: usize) {
    while is_pending(protocol::ALONE_GATHERS) && is_owner(member) {
        let is_reading = block::begin_reading(member);
        if is_reading {
            // As a slot: a handler may jump away from here.
            member.slot_stack.set(member.stack_or(NO_SLOT));
        }
        // SAFETY: its memory stays while it is read.
        let filter = unsafe { FILTER.load(Ordering::Acquire).as_ref() };
        // Who is the owner still has seen its own filter. That may have ended while its turn came.
        let filter = filter.filter(|filter| is_owner(member) && filter.is_active());
        if let Some(filter) = filter {
            let constraint = CONSTRAINT.load(Ordering::Relaxed) as u16;
            let mut wait = Wait::begin(member, filter, constraint, location);
            gather(member, &mut wait);
            wait.end_gathered();
        }
        if is_reading {
            member.slot_stack.set(NO_SLOT);
        }
        block::end_reading(member, is_reading);
        if filter.is_none() {
            return;
        }
    }
}

/// Under control, if the thread runs alone still.
fn as_owner(member: &Member, body: impl FnOnce()) {
    with_control(|| {
        if OWNER.load(Ordering::Relaxed) == member.number() {
            body();
        }
    });
}

fn is_pending(bit: u8) -> bool {
    words::PENDING.load(Ordering::Relaxed) & bit != 0
}

/// A paused thread that may hold something looks whether who runs alone waits for that; if so for some time, all like it go on. It counts as
/// reading: no unit goes.
fn look_at_owner() {
    if is_pending(protocol::ALONE_GATHERS) {
        return;
    }
    let number = OWNER.load(Ordering::Acquire);
    if number == 0 || members::with(number, waits_for_lock) != Some(true) {
        BLOCKED_SINCE.store(0, Ordering::Relaxed);
        return;
    }
    let now = sys::monotonic_nanoseconds();
    let since = BLOCKED_SINCE.load(Ordering::Relaxed);
    if since == 0 {
        BLOCKED_SINCE.store(now, Ordering::Relaxed);
    } else if now.saturating_sub(since) >= LOOK_AT_OWNER_EVERY / 2 {
        BLOCKED_SINCE.store(0, Ordering::Relaxed);
        // The members' lock comes before control.
        members::with(number, |owner| {
            with_control(|| {
                if is_owner(owner) && !is_pending(protocol::ALONE_GATHERS) {
                    protocol::let_holders_go(&GATE, || waits_for_lock(owner));
                }
            });
        });
    }
}

/// Whether a thread is where it may be waiting for a lock.
fn waits_for_lock(owner: &Member) -> bool {
    let Some(at) = protocol::released_at(owner) else { return false };
    match owner.waits.load(Ordering::Relaxed) {
        // For a filter's.
        wire::AT_SLOT => true,
        wire::AT_CALL => TAKES_LOCKS.load(Ordering::Relaxed) && members::is_holding_location(at),
        _ => false,
    }
}

/// A handler's region ends; whose turn it is does not change.
pub fn let_others_run(member: &Member) {
    with_control(|| {
        if OWNER.load(Ordering::Relaxed) == member.number() {
            stop();
        }
    });
}

/// The thread lets others run again, if it was alone.
pub fn end(member: &Member) {
    end_of(member.number());
}

fn end_of(number: u32) {
    with_control(|| {
        if number != 0 && OWNER.load(Ordering::Relaxed) == number {
            stop();
        }
    });
    // Its filter's end may have done so before.
    if let Some(who) = TURN.give_back_of(number) {
        wait::wake(&TURN.word, who);
    }
}

/// Under control: others may run again.
fn stop() {
    OWNER.store(0, Ordering::Release);
    FILTER.store(null_mut(), Ordering::Relaxed);
    units::set_waiting(words::PENDING.load(Ordering::Relaxed) & protocol::UPDATE != 0);
    BLOCKED_SINCE.store(0, Ordering::Relaxed);
    GATE.change(0, protocol::ALONE | protocol::ALONE_GO_ON | protocol::ALONE_GATHERS);
}

/// A region of the thread in which it ran alone has ended.
pub fn end_unless_nested(member: &Member) {
    if is_owner(member) && !holdings::has_alone(member) {
        end(member);
    }
}

/// The filter ends: whoever runs alone for it does so no longer.
pub fn filter_ended(filter: &Filter) {
    let is_of = || core::ptr::eq(FILTER.load(Ordering::Acquire), filter);
    let mut owner = 0;
    if is_of() {
        with_control(|| {
            if is_of() {
                owner = OWNER.load(Ordering::Relaxed);
                stop();
            }
        });
    }
    if owner != 0 {
        end_of(owner);
    }
}

/// A paused thread looks whether that takes too long: nanoseconds after which to look again.
pub fn watch() -> u64 {
    let mut look_every = wait::LOOK_EVERY;
    if words::PENDING.load(Ordering::Relaxed) & protocol::ALONE == 0 {
        return look_every;
    }
    let Some(member) = members::known() else { return look_every };
    let is_reading = block::begin_reading(member);
    let may_hold = protocol::released_at(member).is_some_and(|at| member.may_hold(at));
    if may_hold {
        look_at_owner();
    }
    let owner = OWNER.load(Ordering::Acquire);
    // SAFETY: installed while it is here, and its memory stays while it is read.
    if let Some(filter) = unsafe { FILTER.load(Ordering::Acquire).as_ref() } {
        look_every = wait::look_every(filter.patience());
        let now = sys::monotonic_nanoseconds();
        let since = now.saturating_sub(LOOKED.swap(now, Ordering::Relaxed));
        let counts = wait::counts(since, filter.patience());
        let waited = WAITED.fetch_add(counts, Ordering::Relaxed) + counts;
        if owner != 0 && owner != member.number() && waited > filter.patience() {
            let constraint = CONSTRAINT.load(Ordering::Relaxed) as u16;
            let location = LOCATION.load(Ordering::Relaxed);
            filter.break_down(
                member,
                location,
                constraint,
                "was paused too long for a thread that runs alone there",
            );
        }
    }
    block::end_reading(member, is_reading);
    if may_hold {
        look_every.min(LOOK_AT_OWNER_EVERY)
    } else {
        look_every
    }
}

/// In a forked child.
pub fn after_fork_in_child() {
    OWNER.store(0, Ordering::Relaxed);
    FILTER.store(null_mut(), Ordering::Relaxed);
    BLOCKED_SINCE.store(0, Ordering::Relaxed);
    super::fork::reset_latch(&TURN, 0);
}
