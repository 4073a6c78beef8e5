//! One thread runs, all others are paused: regions that exclude everything (`r <> *`, Wu 5.2.3), with the same mechanism that updates use.
//!
//! A thread that wants to run alone first waits for its turn, then asks all others to pause, wherever that is, and waits until none runs;
//! it is released meanwhile, so that an update can come in between. Then it runs, through blocking calls too:
//! what asks the others to pause does not concern it. A region that takes longer than its filter's timeout, or that
//! waits for a paused thread, ends the filter: a thread that is paused notices.

use super::filter::Filter;
use super::heir::Heir;
use super::holdings::Loan;
use super::latch::{Latch, Taken};
use super::members::{self, Member};
use super::protocol::{self, Shared};
use super::wait::{self, Wait};
use super::{holdings, units, with_control, words, GATE};
use crate::sys;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

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
pub fn begin(member: &Member, filter: &Filter, constraint: u16, location: usize) -> Option<Loan> {
    let is_loan = is_under_way(member);
    let was_owner = is_owner(member);
    if was_owner && !is_loan {
        return Some(Loan::No);
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
            OWNER.store(member.number(), Ordering::Release);
            units::set_waiting(true);
            GATE.request(protocol::ALONE, 0);
        });
    }
    if is_turn {
        wait.goes_on();
        let mut looks = 0u32;
        let is_paused_or_own =
            |other: &'static Member| core::ptr::eq(other, member) || protocol::released_at(other).is_some();
        while !members::all(is_paused_or_own) && !wait.is_over() {
            looks += 1;
            super::wait_a_little(looks);
            if looks % 256 == 0 {
                members::forget_vanished();
            }
        }
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
    GATE.change(0, protocol::ALONE);
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
    let is_reading = super::block::begin_reading(member);
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
    super::block::end_reading(member, is_reading);
    look_every
}

/// In a forked child.
pub fn after_fork_in_child() {
    OWNER.store(0, Ordering::Relaxed);
    FILTER.store(null_mut(), Ordering::Relaxed);
    super::fork::reset_latch(&TURN, 0);
}
