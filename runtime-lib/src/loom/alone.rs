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
//! blocks in a call that takes a lock, or for one of a filter's, those who may hold some go on until they do not: a thread
//! that is paused sees that. Before the region's thread goes on, all others are paused again (before its handlers do, unless one comes
//! just then). So nobody else runs but while it waits for a lock; then threads with locks do.
//!
//! Limit: one that holds a lock and waits for its own turn to run alone does not go on. If the region's thread waits for that lock, the filter's
//! timeout ends it.

use super::filter::Filter;
use super::heir::Heir;
use super::holdings::Loan;
use super::latch::{Latch, Taken, Wake};
use super::members::{self, Member, NO_SLOT};
use super::protocol::{self, Shared};
use super::wait::{self, Wait};
use super::{block, holdings, units, with_control, words, GATE};
use crate::log::Own;
use crate::sys;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use covsched_core::loom::wire;

/// Nanoseconds for which those who may hold a lock are waited for before they pause with it.
const HOLDERS_TIME: u64 = 1_000_000;
/// Nanoseconds after which who may hold a lock looks again whether that is wanted. It must have been for half of that.
const LOOK_AT_OWNER_EVERY: u64 = 1_000_000;

/// Whose turn it is.
static TURN: Latch =
    Latch { word: AtomicU32::new(0), releases: AtomicU32::new(0), heir: Heir(AtomicU64::new(0)) };
/// The member that others are paused for; 0: none.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// What it runs alone for; under control.
static CLAIMS: Own<Claims> = Own::new(Claims::NONE);
/// The oldest of that: the filter, constraint and slot. The filter is installed while this is not null.
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

/// A region.
#[derive(Clone, Copy)]
struct Claim {
    filter: *const Filter,
    constraint: u16,
    location: usize,
}

impl Claim {
    const NONE: Claim = Claim { filter: null(), constraint: 0, location: 0 };

    fn is_for(&self, filter: *const Filter, constraint: u16) -> bool {
        (self.filter, self.constraint) == (filter, constraint)
    }
}

/// The regions that the owner is in, whose filters have not ended, the oldest first: regions of several filters may be nested, or overlap.
#[derive(Clone, Copy)]
struct Claims {
    all: [Claim; 14],
    count: usize,
}

impl Claims {
    const NONE: Claims = Claims { all: [Claim::NONE; 14], count: 0 };

    fn all(&self) -> &[Claim] {
        &self.all[..self.count]
    }

    /// False if there is no room.
    fn add(&mut self, claim: Claim) -> bool {
        let is_new = !self.all().iter().any(|one| one.is_for(claim.filter, claim.constraint));
        if is_new {
            let Some(place) = self.all.get_mut(self.count) else { return false };
            *place = claim;
            self.count += 1;
        }
        true
    }

    fn remove(&mut self, which: impl Fn(&Claim) -> bool) {
        let before = *self;
        *self = Claims::NONE;
        for &claim in before.all().iter().filter(|claim| !which(claim)) {
            self.add(claim);
        }
    }
}

/// Under control: changes what the owner runs alone for.
fn set_claims(claims: Claims) {
    CLAIMS.set(claims);
    let oldest = claims.all[0];
    CONSTRAINT.store(oldest.constraint.into(), Ordering::Relaxed);
    LOCATION.store(oldest.location, Ordering::Relaxed);
    let filter = oldest.filter.cast_mut();
    if FILTER.swap(filter, Ordering::AcqRel) != filter {
        LOOKED.store(sys::monotonic_nanoseconds(), Ordering::Relaxed);
        WAITED.store(0, Ordering::Relaxed);
    }
}

/// Under control: these regions are over, or their filter is. If there are no others, all threads run; whom to wake then.
fn drop_claims(which: impl Fn(&Claim) -> bool) -> Option<Wake> {
    let mut claims = CLAIMS.get();
    claims.remove(which);
    if claims.count > 0 {
        set_claims(claims);
        return None;
    }
    let owner = OWNER.load(Ordering::Relaxed);
    stop();
    TURN.give_back_of(owner)
}

fn wake(who: Option<Wake>) {
    if let Some(who) = who {
        wait::wake(&TURN.word, who);
    }
}

/// Whether this is the thread that runs alone.
pub fn is_owner(member: &Member) -> bool {
    OWNER.load(Ordering::Acquire) == member.number()
}

/// Whether it is the thread's turn though it has not noted so: it begins or ends to run alone, and this is a handler that interrupted it, or
/// it will not go on with that.
pub fn is_under_way(member: &Member) -> bool {
    with_control(|| is_under_way_now(member))
}

/// Under control.
fn is_under_way_now(member: &Member) -> bool {
    let has_claim = |filter: *const Filter, constraint| {
        let claims = CLAIMS.get();
        claims.all().iter().any(|claim| claim.is_for(filter, constraint))
    };
    let is_noted = || is_owner(member) && holdings::is_alone(member, has_claim);
    TURN.is_of(member.number()) && !is_noted()
}

/// The thread, at a slot, becomes the only one that runs. `None` if its filter ended meanwhile.
pub fn begin(
    member: &Member,
    filter: &Filter,
    constraint: u16,
    location: usize,
    takes_locks: bool,
) -> Option<Loan> {
    // If its filter has ended, so has what its end does.
    let add = |mut claims: Claims| {
        let has_room = claims.add(Claim { filter, constraint, location });
        set_claims(claims);
        has_room
    };
    let (mut is_loan, mut has_room) = (false, true);
    let was_owner = as_owner(member, || {
        is_loan = is_under_way_now(member);
        TAKES_LOCKS.fetch_or(takes_locks, Ordering::Relaxed);
        // A loan ends with what it was for, whichever filter this is of.
        has_room = is_loan || !filter.is_active() || add(CLAIMS.get());
    });
    if !has_room {
        filter.break_down(member, location, constraint, "is in too many regions that run alone");
        return None;
    }
    if was_owner && !is_loan {
        return Some(Loan::No);
    }
    is_loan |= TURN.is_of(member.number());
    let mut wait = Wait::begin(member, filter, constraint, location);
    let is_turn = is_loan || TURN.take(member.number(), &mut wait) == Taken::Yes;
    if is_turn && !was_owner {
        with_control(|| {
            if !filter.is_active() {
                return;
            }
            TAKES_LOCKS.store(takes_locks, Ordering::Relaxed);
            OWNER.store(member.number(), Ordering::Release);
            add(Claims::NONE);
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
            let _ = as_owner(member, || GATE.take_back(protocol::ALONE_GO_ON));
        } else if !go_on && are_paused {
            let _ = as_owner(member, || protocol::all_are_gathered(&GATE));
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

/// Under control, if the thread runs alone; whether it does.
fn as_owner(member: &Member, body: impl FnOnce()) -> bool {
    with_control(|| {
        let is_owner = OWNER.load(Ordering::Relaxed) == member.number();
        if is_owner {
            body();
        }
        is_owner
    })
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
        wire::AT_CALL => TAKES_LOCKS.load(Ordering::Relaxed) && members::is_taking_location(at),
        _ => false,
    }
}

/// A handler's region ends; whose turn it is does not change.
pub fn let_others_run(member: &Member) {
    as_owner(member, stop);
}

/// The thread lets others run again, if it was alone.
pub fn end(member: &Member) {
    let who = with_control(|| {
        if is_owner(member) {
            stop();
        }
        // Its filter's end may have done so before.
        TURN.give_back_of(member.number())
    });
    wake(who);
}

/// Under control: others may run again.
fn stop() {
    OWNER.store(0, Ordering::Release);
    set_claims(Claims::NONE);
    units::set_waiting(words::PENDING.load(Ordering::Relaxed) & protocol::UPDATE != 0);
    BLOCKED_SINCE.store(0, Ordering::Relaxed);
    GATE.change(0, protocol::ALONE | protocol::ALONE_GO_ON | protocol::ALONE_GATHERS);
}

/// A region of the thread in which it ran alone has ended.
pub fn region_ended(member: &Member, filter: *const Filter, constraint: u16) {
    if !holdings::is_alone(member, |other, of| (other, of) == (filter, constraint)) {
        let mut who = None;
        as_owner(member, || who = drop_claims(|claim| claim.is_for(filter, constraint)));
        wake(who);
    }
}

/// The filter ends: whoever runs alone for it, and for no other, does so no longer.
pub fn filter_ended(filter: &Filter) {
    let is_of = |claim: &Claim| core::ptr::eq(claim.filter, filter);
    let who = with_control(|| if CLAIMS.get().all().iter().any(is_of) { drop_claims(is_of) } else { None });
    wake(who);
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
    let survivor = members::known().map_or(0, Member::number);
    if survivor != 0 && OWNER.load(Ordering::Relaxed) == survivor {
        // Alone in its region, and so it is with the threads that it creates.
        units::set_waiting(true);
        words::PENDING.fetch_or(protocol::ALONE, Ordering::Relaxed);
    } else {
        OWNER.store(0, Ordering::Relaxed);
        set_claims(Claims::NONE);
    }
    BLOCKED_SINCE.store(0, Ordering::Relaxed);
    super::fork::reset_latch(&TURN, survivor);
}
