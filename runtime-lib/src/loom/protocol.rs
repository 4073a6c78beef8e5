//! Pause and re-acquire (Wu 5.3.2, 5.3.3): how threads and an updater agree on who is running. Nothing here knows
//! what is paused for, or where words are: tests/model compiles this file against the `loom` crate and
//! tries all interleavings.
//!
//! # Protocol
//! A thread's word says [`RUNNING`] or where it is *released*. Wu's update lock, taken in read mode, is
//! the store of [`RUNNING`] and then a look at the pending byte; the updater sets the byte, then looks at the
//! words (Dekker). One of the two must see the other's store, so both need a full fence in between: the updater has
//! one, and gives threads theirs with the kernel's `membarrier`, so that hot paths have none. Without it
//! the byte is never 0 ([`FENCES`]), which sends every thread through [`reacquire`] and its fence.
//!
//! # Findings
//! An updater may find out about a released thread that it may stay, though its location alone does not say so ([`find_out`]). That holds
//! until the thread goes on, so it counts how often it does ([`Member::goes_on`]): only threads that had to look whether they must
//! stay go on at all while an update is under way. The updater publishes what it found before it looks at the word for the last
//! time (Dekker again), so that a thread which is still released then sees it when it comes back, and stays.
//!
//! A thread that comes to a place where it might stay, and whose location does not say whether it may, finds that out about itself
//! ([`look`]), before its word says where it is, or while it says so. So an updater reads the word once more behind what a thread found: it
//! may have read it the first time before the thread came back from elsewhere.
//!
//! A thread that waits reads the generation before it looks at what it waits for, and sleeps only while the generation is
//! still that. So whoever changes something it looks at, then bumps the generation ([`Shared::change`]), reaches it.

use super::sync::{fence, AtomicU32, AtomicU64, AtomicU8, AtomicUsize, Ordering};

/// Pending: threads shall pause where it is safe, for an update.
pub const UPDATE: u8 = 1;
/// Pending: there is no membarrier.
pub const FENCES: u8 = 2;
/// Pending: all threads but one shall pause.
pub const ALONE: u8 = 4;
/// Pending, with [`UPDATE`]: who may hold something that others wait for does not stay. An updater takes this back before it
/// looks for the last time: who has been let go must be seen to run.
pub const GO_ON: u8 = 8;
/// Pending, with [`ALONE`]: who may hold something that the one who runs waits for does not stay.
pub const ALONE_GO_ON: u8 = 16;
/// Pending, with [`ALONE`]: the one who runs must wait for all others once more.
pub const ALONE_GATHERS: u8 = 32;
/// Pending: what asks threads to pause.
pub const PAUSE: u8 = UPDATE | ALONE;

/// A thread's word: it runs.
pub const RUNNING: usize = 1;

/// What all threads share.
pub trait Shared {
    /// The pending byte.
    fn pending(&self) -> &AtomicU8;
    /// Changes when anything does that waiting threads look at.
    fn generation(&self) -> &AtomicU32;
    /// Sleeps while the generation is this; may return early.
    fn sleep(&self, generation: u32);
    /// Wakes all sleepers.
    fn wake(&self);
    /// Every thread of the process executes a full fence; nothing with [`FENCES`].
    fn barrier(&self);

    /// Sets `set`, clears `clear`; all who wait look again. Callers exclude each other.
    fn change(&self, set: u8, clear: u8) {
        let before = self.pending().load(Ordering::Relaxed);
        self.pending().store((before | set) & !clear, Ordering::Release);
        self.generation().fetch_add(1, Ordering::Release);
        self.wake();
    }

    /// Clears what let threads go on; who waits need not look again. All that went on are seen to be running.
    fn take_back(&self, clear: u8) {
        let before = self.pending().load(Ordering::Relaxed);
        self.pending().store(before & !clear, Ordering::Release);
        fence(Ordering::SeqCst);
        self.barrier();
    }

    /// Sets `set`, clears `clear`: threads that release themselves, or are released, stay so from now on, if [`Member::must_stay`] says
    /// so; all others are seen to be running.
    fn request(&self, set: u8, clear: u8) {
        self.change(set, clear);
        fence(Ordering::SeqCst);
        self.barrier();
    }
}

/// A thread, as itself and the updater see it.
pub trait Member {
    /// Its word; only the thread writes it.
    fn at(&self) -> &AtomicUsize;
    /// Whether, with `pending`, it must stay at `location`.
    fn must_stay(&self, location: usize, pending: u8) -> bool;
    /// How often it went on after it had looked whether it must stay; only the thread changes this.
    fn goings(&self) -> &AtomicU64;
    /// What was found out about it: [`Finding`]; only the updater changes this.
    fn found(&self) -> &AtomicU64;
    /// What it found out about itself, and the round; only the thread changes this.
    fn looked(&self) -> &AtomicU64;

    /// It goes on: whatever was found out about where it is does not hold any more.
    fn goes_on(&self) {
        let goings = self.goings().load(Ordering::Relaxed);
        self.goings().store(goings.wrapping_add(1), Ordering::Release);
    }

    /// What was found out and still holds. Asked by others, [`Member::at`] is to be read first: what it says then came after all goings that it
    /// came after.
    fn finding(&self) -> Option<Finding> {
        let goings = self.goings().load(Ordering::Acquire);
        Finding::of(self.found().load(Ordering::Acquire), goings)
    }

    /// What it found out about itself in this round and still holds; as with [`Member::finding`].
    fn own_finding(&self, round: u64) -> Option<Finding> {
        let key = key_of(self.goings().load(Ordering::Acquire), round);
        Finding::of(self.looked().load(Ordering::Acquire), key)
    }
}

/// Goings in a round.
fn key_of(goings: u64, round: u64) -> u64 {
    round << 32 | goings & u64::from(u32::MAX)
}

/// What [`find_out`] and [`look`] find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// It may stay wherever it comes back to.
    Outside,
    /// It may not.
    Inside,
}

impl Finding {
    /// A word with this, which says for how long it holds.
    fn word(self, key: u64) -> u64 {
        key << 2 | if self == Finding::Outside { 1 } else { 2 }
    }

    /// What a word has for `key`.
    fn of(word: u64, key: u64) -> Option<Finding> {
        match word & 3 {
            _ if word >> 2 != key & (u64::MAX >> 2) => None,
            1 => Some(Finding::Outside),
            2 => Some(Finding::Inside),
            _ => None,
        }
    }
}

/// Nothing was found out. To be forgotten before each request.
pub const NOTHING_FOUND: u64 = 0;

/// After a request: `look` finds out about a released thread what stays true until it goes on, or nothing. Whether the thread is
/// released and stays so.
pub fn find_out(member: &impl Member, look: impl FnOnce() -> Option<Finding>) -> bool {
    let goings = member.goings().load(Ordering::Acquire);
    if member.at().load(Ordering::Acquire) == RUNNING {
        return false;
    }
    let Some(finding) = look() else { return false };
    member.found().store(finding.word(goings), Ordering::Release);
    fence(Ordering::SeqCst);
    released_at(member).is_some() && member.finding() == Some(Finding::Outside)
}

/// The calling thread, which has just come to a place or has stayed there, finds out whether it may stay: `see` tells what is true until
/// it goes on, or nothing. No handler may run instrumented code between this and its word. The updater counts rounds, each before its
/// request: what was found in another one, for another update maybe, does not hold.
pub fn look(
    rounds: &AtomicU64,
    member: &impl Member,
    see: impl FnOnce() -> Option<Finding>,
) -> Option<Finding> {
    let round = rounds.load(Ordering::Acquire);
    if member.own_finding(round).is_none() {
        let goings = member.goings().load(Ordering::Relaxed);
        let finding = see()?;
        member.looked().store(finding.word(key_of(goings, round)), Ordering::Release);
    }
    member.own_finding(round)
}

/// Whether a thread is released, and saw that it may stay; to be asked after a look at its word.
pub fn has_seen_outside(member: &impl Member, round: u64) -> bool {
    let has_seen = || member.own_finding(round) == Some(Finding::Outside);
    has_seen() && released_at(member).is_some() && has_seen()
}

/// The thread is running, and stays here for as long as it must. It is released meanwhile.
pub fn pause(shared: &impl Shared, member: &impl Member, location: usize) {
    loop {
        let mut generation = shared.generation().load(Ordering::Acquire);
        if !member.must_stay(location, shared.pending().load(Ordering::Acquire)) {
            member.goes_on();
            return;
        }
        member.at().store(location, Ordering::Release);
        loop {
            shared.sleep(generation);
            generation = shared.generation().load(Ordering::Acquire);
            if !member.must_stay(location, shared.pending().load(Ordering::Acquire)) {
                break;
            }
        }
        member.at().store(RUNNING, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}

/// The thread has been released at `location`, and wants to run.
pub fn reacquire(shared: &impl Shared, member: &impl Member, location: usize) {
    if comes_back(shared, member) {
        pause(shared, member, location);
    }
}

/// Its first half: it runs; whether it is to [`pause`] where it was released.
pub fn comes_back(shared: &impl Shared, member: &impl Member) -> bool {
    member.at().store(RUNNING, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    shared.pending().load(Ordering::Acquire) & PAUSE != 0
}

/// While one runs alone: who may hold something goes on, if the owner `waits` (and thus is released), until it comes back and has waited for
/// all. Callers exclude each other, and those who [`Shared::change`] anything.
///
/// Dekker once more: the owner sees that it must wait for all, or is seen to run, before anybody goes on.
pub fn let_holders_go(shared: &impl Shared, waits: impl FnOnce() -> bool) {
    shared.request(ALONE_GATHERS, 0);
    if waits() {
        shared.change(ALONE_GO_ON, 0);
    } else {
        shared.change(0, ALONE_GATHERS);
    }
}

/// The owner has seen all others released, behind a look by which nobody was let go: that is over, unless somebody has been let go since.
/// Callers exclude each other, and those who [`Shared::change`] anything.
pub fn all_are_gathered(shared: &impl Shared) {
    let pending = shared.pending().load(Ordering::Relaxed);
    if pending & ALONE_GO_ON == 0 {
        shared.pending().store(pending & !ALONE_GATHERS, Ordering::Release);
    }
}

/// The thread is released: what it did before is seen by an updater that sees this.
pub fn release(member: &impl Member, location: usize) {
    member.at().store(location, Ordering::Release);
}

/// After a request: where the thread is released; `None` while it runs.
pub fn released_at(member: &impl Member) -> Option<usize> {
    let at = member.at().load(Ordering::Acquire);
    (at != RUNNING).then_some(at)
}
