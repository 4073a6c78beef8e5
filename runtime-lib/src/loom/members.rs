//! The threads that have run instrumented code.
//!
//! A thread becomes a member when it enters its first instrumented function, whoever made it, and ends as one in the last round of
//! thread-specific destructors; instrumented code in a later destructor runs uncontrolled. A record is never given
//! back but reused. A thread that vanished without destructors (the exit system call) is found when somebody would wait for it.
//!
//! # New threads
//! A thread that instrumented code creates has its record before it exists, with the location of the call that creates it: [`super::birth`].
//! Until it has entered an instrumented function it is as safe as that location is for new threads.
//!
//! # Outer locations
//! What a thread was at when code outside called back ([`covsched_core::loom::abi::Outer`]) is kept here, in a pile, so
//! that the engine never reads a stack. A longjmp leaves entries behind: the address of the `Outer` tells, since what is
//! below the stack pointer is gone. Handlers on an alternate stack are marked, as addresses say nothing there.
//! Limit: programs that switch stacks themselves.

use super::birth::Work;
use super::holdings::Holding;
use super::objects::Object;
use super::pile::{Entry, Pile};
use super::protocol::{Finding, Member as _};
use super::stack::{self, Frames, Mark};
use super::{look, protocol, units, words, GATE};
use crate::lock::Lock;
use crate::log::Own;
use crate::{real, sys};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::size_of;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicU8, AtomicUsize, Ordering};
use covsched_core::loom::abi::{
    AT_UNKNOWN, LOCATION_BY_CALLER, LOCATION_HOLDS, LOCATION_SAFE, LOCATION_TAKES, LOCATION_UNSAFE,
    LOCATION_UNSAFE_BIRTH,
};
use covsched_core::loom::wire;
use libc::pthread_key_t;

/// The word of threads that have not begun: at [`AT_UNKNOWN`].
static NOT_BEGUN: AtomicUsize = AtomicUsize::new(AT_UNKNOWN);
/// Where a thread is created if nobody knows where that was: never safe for it.
pub static SOMEWHERE: AtomicU8 = AtomicU8::new(LOCATION_UNSAFE_BIRTH);
/// Where a thread is that left its outermost instrumented function: always safe.
pub static OUTSIDE: AtomicU8 = AtomicU8::new(LOCATION_SAFE);
/// What a handler interrupted: never safe.
pub static INTERRUPTED: AtomicU8 = AtomicU8::new(LOCATION_UNSAFE);

/// The address of one of the two, as a location.
pub fn address_of(byte: &'static AtomicU8) -> usize {
    byte as *const AtomicU8 as usize
}

/// A location that a thread came from.
#[derive(Clone, Copy)]
pub struct OuterEntry {
    at: usize,
    /// Of the `Outer`; the lowest bit says "on an alternate stack".
    address: usize,
}

const ON_ALTERNATE_STACK: usize = 1;

impl Entry for OuterEntry {
    const EMPTY: Self = OuterEntry { at: 0, address: 0 };
    fn is_empty(&self) -> bool {
        self.address == 0
    }
}

/// A thread.
#[repr(C, align(64))]
pub struct Member {
    /// Its `AT`; null while the record is not in use.
    at: AtomicPtr<AtomicUsize>,
    /// From 1; the record's own.
    number: Own<u32>,
    /// The kernel's id; 0 before the thread has begun.
    tid: AtomicU32,
    /// Where it was created, until it has entered an instrumented function; then 0.
    born: AtomicUsize,
    /// What it is to run.
    pub work: Work,
    /// While it waits in the runtime, where: one of [`wire`]'s `AT_` numbers; [`wire::AT_CALL`] else.
    pub waits: AtomicU32,
    /// Since when it is in a slot, as [`super::block`] counts; 0: it is in none.
    pub in_slot: AtomicU64,
    /// Rounds of thread-specific destructors so far.
    rounds: Own<u32>,
    outers: Pile<OuterEntry, 14>,
    /// An address that was not on an alternate stack when code outside called there; 0: none is known.
    plain_stack: Own<usize>,
    /// How often it went on while others were asked to stay, and what an update found out about it: see [`protocol`].
    goings: AtomicU64,
    found: AtomicU64,
    looked: AtomicU64,
    /// Where it last went on in this round, with [`SAW_CALLER`] or [`LET_GO`]; 0: nowhere.
    passed: AtomicUsize,
    /// Where it last saw on its stack that it is inside, and in which round.
    pub mark: Own<Mark>,
    pub mark_round: Own<u64>,
    /// While it is in the runtime at a place to pause: its stack, from there on. Handlers in between set it back, or jump away; what is
    /// above it then is not in the runtime ([`Member::forget_pause`]).
    pub stack: Own<usize>,
    /// It has just got something of a filter that is not among its holdings yet.
    pub takes: Own<bool>,
    /// What it holds of filters.
    pub holdings: Pile<Holding, 14>,
    /// A lock that it is about to take or to give back, and that may be its own without being among its holdings.
    pub moving: Own<*const Object>,
    /// Where the stack of the function ends whose slot it is in; of the outermost one, if handlers are. Else [`NO_SLOT`].
    pub slot_stack: Own<usize>,
    /// Next of all records ever made.
    next_of_all: Own<*const Member>,
    /// Next of those not in use.
    next_free: Own<*const Member>,
}

// SAFETY: atomic, the thread's own, or under the registry's lock.
unsafe impl Sync for Member {}

/// In [`Member::passed`]: it saw on its stack who called. No address of a program's has these bits.
const SAW_CALLER: usize = 1 << (usize::BITS - 1);
/// In [`Member::passed`]: others may be waiting for something that it has.
const LET_GO: usize = 1 << (usize::BITS - 2);
/// "Has ended" in the thread's word.
const ENDED: usize = 1;
/// [`Member::slot_stack`]: above all stacks.
pub const NO_SLOT: usize = usize::MAX;
const SLAB: usize = 16 * 4096;

struct Registry {
    all: *const Member,
    free: *const Member,
    records: u32,
    count: u32,
}

struct Shelf(UnsafeCell<Registry>);

// SAFETY: only touched under LOCK.
unsafe impl Sync for Shelf {}

static LOCK: Lock = Lock::new();
static REGISTRY: Shelf = Shelf(UnsafeCell::new(Registry { all: null(), free: null(), records: 0, count: 0 }));
/// The key whose destructor notices the end of a thread, plus 1.
static END_KEY: AtomicU32 = AtomicU32::new(0);

fn with_registry<R>(body: impl FnOnce(&mut Registry) -> R) -> R {
    let mask = sys::block_signals();
    LOCK.acquire();
    // SAFETY: under the lock.
    let result = body(unsafe { &mut *REGISTRY.0.get() });
    LOCK.release();
    sys::restore_signals(mask);
    result
}

/// The calling thread, if it is a member.
#[inline(always)]
pub fn known() -> Option<&'static Member> {
    let word = words::member();
    // SAFETY: a record, the thread's own until its end.
    (word > ENDED).then(|| unsafe { &*(word as *const Member) })
}

/// The calling thread, made a member if it is none yet; `None` when it has ended or there is no memory.
pub fn current() -> Option<&'static Member> {
    match words::member() {
        0 => adopt(),
        _ => known(),
    }
}

#[cold]
#[inline(never)]
fn adopt() -> Option<&'static Member> {
    undisturbed(|| {
        let key = make_key()?;
        let member = with_registry(Registry::take)?;
        member.reset();
        with_registry(|registry| registry.count += 1);
        member.begin(key);
        Some(member)
    })
}

/// Runs `body` with signals blocked; keeps errno.
fn undisturbed<R>(body: impl FnOnce() -> R) -> R {
    let errno = real::errno();
    let mask = sys::block_signals();
    let result = body();
    sys::restore_signals(mask);
    real::set_errno(errno);
    result
}

/// A thread is about to be created at `location`: its record, unless there is no memory.
pub fn expect(location: usize) -> Option<&'static Member> {
    undisturbed(|| {
        make_key()?;
        let member = with_registry(Registry::take)?;
        member.reset();
        member.born.store(location, Ordering::Relaxed);
        with_registry(|registry| {
            registry.count += 1;
            member.at.store((&raw const NOT_BEGUN).cast_mut(), Ordering::Release);
        });
        Some(member)
    })
}

/// It was not.
pub fn expect_no_longer(member: &'static Member) {
    undisturbed(|| with_registry(|registry| registry.put_back(member)));
}

/// The calling thread is the one that was expected. False if it has another record, since a signal handler came first: this one
/// is then for who calls to put away.
pub fn begin_expected(member: &'static Member) -> bool {
    undisturbed(|| {
        let own = known();
        match own {
            None => member.begin(END_KEY.load(Ordering::Relaxed) - 1),
            Some(own) => {
                own.born.store(member.born.load(Ordering::Relaxed), Ordering::Release);
                with_registry(|registry| registry.take_off(member));
            }
        }
        own.is_none()
    })
}

/// A record that is off the list can be used again.
pub fn put_away(member: &'static Member) {
    undisturbed(|| with_registry(|registry| registry.put_away(member)));
}

/// The key, made by whoever comes first.
fn make_key() -> Option<pthread_key_t> {
    static MAKING: Lock = Lock::new();
    let found = END_KEY.load(Ordering::Acquire);
    if found != 0 {
        return Some(found - 1);
    }
    MAKING.acquire();
    let mut found = END_KEY.load(Ordering::Acquire);
    if found == 0 {
        let mut key: pthread_key_t = 0;
        // SAFETY: a live key and a destructor of the right type.
        if unsafe { libc::pthread_key_create(&mut key, Some(round_of_destructors)) } == 0 {
            found = key + 1;
            END_KEY.store(found, Ordering::Release);
            super::fork::start();
            super::watch_exit();
        }
    }
    MAKING.release();
    found.checked_sub(1)
}

/// Destructor of the key: sets its value again until the last round, then ends the thread.
unsafe extern "C" fn round_of_destructors(value: *mut c_void) {
    const LAST_ROUND: u32 = 4; // PTHREAD_DESTRUCTOR_ITERATIONS of glibc
    let Some(member) = known().filter(|&member| core::ptr::eq(member, value.cast())) else { return };
    // However the thread came here, its functions are left; C has no landing pads to say so.
    member.outers.clear();
    protocol::release(member, address_of(&OUTSIDE));
    let round = member.rounds.get() + 1;
    member.rounds.set(round);
    if round < LAST_ROUND {
        // SAFETY: a key of ours.
        unsafe { libc::pthread_setspecific(END_KEY.load(Ordering::Relaxed) - 1, value) };
        return;
    }
    let mask = sys::block_signals();
    // It runs until it is off the list: what it holds is its own to give back.
    protocol::reacquire(&GATE, member, address_of(&OUTSIDE));
    super::thread_ends(member);
    words::set_member(ENDED);
    words::at().store(AT_UNKNOWN, Ordering::Relaxed);
    with_registry(|registry| registry.put_back(member));
    sys::restore_signals(mask);
}

impl protocol::Member for Member {
    fn at(&self) -> &AtomicUsize {
        // SAFETY: the word of a thread that is in the registry, which it leaves before it ends.
        unsafe { &*self.at.load(Ordering::Relaxed) }
    }

    fn goings(&self) -> &AtomicU64 {
        &self.goings
    }

    fn found(&self) -> &AtomicU64 {
        &self.found
    }

    fn looked(&self) -> &AtomicU64 {
        &self.looked
    }

    fn must_stay(&self, location: usize, pending: u8) -> bool {
        let for_update = pending & protocol::UPDATE != 0 && self.must_stay_for_update(location, pending);
        for_update || (pending & protocol::ALONE != 0 && self.must_stay_for_other(location, pending))
    }
}

/// Whether a thread may stay at a location.
pub fn is_safe_location(location: usize) -> bool {
    if location == AT_UNKNOWN {
        return true;
    }
    // SAFETY: location bytes of registered units stay while a thread is there.
    unsafe { marks_at(location) & LOCATION_UNSAFE == 0 }
}

/// Whether it is not safe there, but for who called.
pub fn depends_on_caller(location: usize) -> bool {
    // SAFETY: as above.
    location != AT_UNKNOWN && unsafe { marks_at(location) } & LOCATION_BY_CALLER != 0
}

/// Whether a thread that waits there may be waiting for a lock of the program.
pub fn is_taking_location(location: usize) -> bool {
    // SAFETY: as above.
    location != AT_UNKNOWN && unsafe { marks_at(location) } & LOCATION_TAKES != 0
}

/// Whether a thread may hold a lock of the program there, or is about to take one.
pub fn is_holding_location(location: usize) -> bool {
    // SAFETY: as above.
    location != AT_UNKNOWN && unsafe { marks_at(location) } & LOCATION_HOLDS != 0
}

/// # Safety
/// A location byte.
unsafe fn marks_at(location: usize) -> u8 {
    // SAFETY: by the contract.
    unsafe { (*(location as *const AtomicU8)).load(Ordering::Acquire) }
}

impl Member {
    fn reset(&self) {
        self.found.store(protocol::NOTHING_FOUND, Ordering::Relaxed);
        self.looked.store(protocol::NOTHING_FOUND, Ordering::Relaxed);
        self.passed.store(0, Ordering::Relaxed);
        self.plain_stack.set(0);
        self.mark.set(Mark::NOWHERE);
        self.mark_round.set(0);
        self.stack.set(0);
        self.tid.store(0, Ordering::Relaxed);
        self.born.store(0, Ordering::Relaxed);
        self.waits.store(wire::AT_CALL, Ordering::Relaxed);
        self.in_slot.store(0, Ordering::Relaxed);
        self.rounds.set(0);
        self.takes.set(false);
        self.moving.set(null());
        self.slot_stack.set(NO_SLOT);
        self.outers.clear();
        self.holdings.clear();
    }

    /// The calling thread is this.
    fn begin(&'static self, key: pthread_key_t) {
        self.tid.store(sys::thread_id(), Ordering::Relaxed);
        words::set_member(self as *const Member as usize);
        // SAFETY: a key of ours.
        unsafe { libc::pthread_setspecific(key, (self as *const Member).cast::<c_void>()) };
        let count = with_registry(|registry| {
            self.at.store((words::at() as *const AtomicUsize).cast_mut(), Ordering::Release);
            registry.count
        });
        super::thread_begins(count);
    }

    /// It has not run in an instrumented function since instrumented code created it.
    pub fn has_not_entered(&self) -> bool {
        self.born.load(Ordering::Relaxed) != 0
    }

    /// It runs in an instrumented function: where it was created does not matter any more.
    pub fn has_entered(&self) {
        if self.born.load(Ordering::Relaxed) != 0 {
            self.born.store(0, Ordering::Release);
        }
    }

    /// Where it was created, if it has not got on from there and must.
    pub fn unsafe_birth(&self) -> Option<usize> {
        let born = self.born.load(Ordering::Acquire);
        // SAFETY: 0, or a location byte that stays for as long as it is noted here.
        (born != 0 && unsafe { marks_at(born) } & LOCATION_UNSAFE_BIRTH != 0).then_some(born)
    }

    /// The units with these locations go.
    pub fn forget_birth(&self, locations: core::ops::Range<usize>) {
        if locations.contains(&self.born.load(Ordering::Acquire)) {
            self.born.store(0, Ordering::Release);
        }
    }

    /// Its number among members: never 0, below 2^30, another thread's after its end.
    pub fn number(&self) -> u32 {
        self.number.get()
    }

    /// The kernel's id.
    pub fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// Whether it may stay at `location` with all that it came from.
    pub fn is_safe(&self, location: usize) -> bool {
        is_safe_location(location) && self.unsafe_outer().is_none() && self.unsafe_birth().is_none()
    }

    /// Whether a look at its stack, the engine's or its own, has shown that it may stay; to be asked after a look at its word.
    pub fn is_found_outside(&self) -> bool {
        (self.finding() == Some(Finding::Outside) || protocol::has_seen_outside(self, look::round()))
            && self.unsafe_birth().is_none()
    }

    /// Looks at its stack, if that matters. Whether it is released, and may stay.
    pub fn find_out(&self, frames: Frames<'_>) -> bool {
        if self.finding() == Some(Finding::Inside) {
            return false;
        }
        protocol::find_out(self, || {
            let top = self.outermost(protocol::released_at(self)?)?;
            let is_without = stack::is_without(self.tid(), top, frames)?;
            Some(if is_without { Finding::Outside } else { Finding::Inside })
        })
    }

    /// Where its outermost function with loom was entered, on its one stack; `None` if there are others, or if `location`, where it
    /// is, or one that it came from is not safe whoever called.
    pub fn outermost(&self, location: usize) -> Option<usize> {
        let may_be_safe = |at: usize| is_safe_location(at) || depends_on_caller(at);
        if !may_be_safe(location) || self.unsafe_birth().is_some() {
            return None;
        }
        let mut top = usize::MAX;
        for index in 0..self.outers.len() {
            let entry = self.outers.get(index);
            let is_deeper = entry.address < top;
            if entry.is_empty() || entry.address & ON_ALTERNATE_STACK != 0 || !is_deeper {
                return None;
            }
            if !may_be_safe(entry.at) {
                return None;
            }
            top = entry.address;
        }
        (self.outers.len() > 0).then(|| self.outers.get(0).address)
    }

    fn must_stay_for_update(&self, location: usize, pending: u8) -> bool {
        let goes_on = pending & protocol::GO_ON != 0 && self.may_hold(location);
        let seen = match () {
            () if self.is_safe(location) || self.is_found_outside() => Some(Finding::Outside),
            // Whatever it saw, it would go on, and others wait for it.
            () if goes_on => self.has_mark().then_some(Finding::Inside),
            () => self.sees(location),
        };
        let passed = match seen {
            Some(Finding::Outside) if !goes_on => return true,
            Some(Finding::Inside) => location | SAW_CALLER,
            _ if goes_on => location | LET_GO,
            _ => location,
        };
        self.passed.store(passed, Ordering::Relaxed);
        false
    }

    /// Another one runs alone, if not this one.
    fn must_stay_for_other(&self, location: usize, pending: u8) -> bool {
        let goes_on = || pending & protocol::ALONE_GO_ON != 0 && self.may_hold(location);
        !super::alone::is_owner(self) && !goes_on()
    }

    /// Whether it runs only because others may be waiting for something that it has, as far as is known.
    pub fn is_let_go(&self) -> bool {
        self.passed.load(Ordering::Relaxed) & LET_GO != 0 && protocol::released_at(self).is_none()
    }

    /// Where it is unsafe to stay if `location` is where it is: there, or where it came from.
    pub fn unsafe_from(&self, location: usize) -> Option<usize> {
        if is_safe_location(location) {
            self.unsafe_outer()
        } else {
            Some(location)
        }
    }

    /// Where its stack is while it is in the runtime at a place to pause, else `other`.
    pub fn stack_or(&self, other: usize) -> usize {
        match self.stack.get() {
            0 => other,
            stack => stack,
        }
    }

    /// Runs `body`, in which it may pause; its stack is at `stack` meanwhile.
    pub fn with_stack<R>(&self, stack: usize, body: impl FnOnce() -> R) -> R {
        let before = self.stack.get();
        self.stack.set(stack);
        let result = body();
        self.stack.set(before);
        result
    }

    /// Whether others may be waiting for something that it has, at `location`.
    pub fn may_hold(&self, location: usize) -> bool {
        self.takes.get()
            || self.holdings.len() > 0
            || is_holding_location(location)
            || (0..self.outers.len()).any(|index| is_holding_location(self.outers.get(index).at))
    }

    /// The innermost location that it came from and that is not safe.
    pub fn unsafe_outer(&self) -> Option<usize> {
        let entries = (0..self.outers.len()).rev().map(|index| self.outers.get(index));
        entries.filter(|entry| !entry.is_empty()).map(|entry| entry.at).find(|&at| !is_safe_location(at))
    }

    /// Code outside calls back: remembers what the thread was at. `stack` is the `Outer`'s address.
    pub fn push_outer(&self, at: usize, stack: usize, is_handler: bool) {
        if !is_handler {
            self.forget_left(stack);
        }
        // Where it was not before it is not again: a function that is called in one place again and again asks the kernel once.
        let is_alternate = is_handler && self.plain_stack.get() != stack && sys::is_on_alternate_stack();
        if is_handler && !is_alternate {
            self.plain_stack.set(stack);
        }
        let mark = if is_alternate { ON_ALTERNATE_STACK } else { 0 };
        // Without memory the update sees only where the thread is now: a limit of 14 nested callbacks then.
        let _ = self.outers.push(OuterEntry { at, address: stack | mark });
    }

    /// The call back has ended.
    pub fn pop_outer(&self, stack: usize) {
        let of = |index| self.outers.get(index).address & !ON_ALTERNATE_STACK;
        if let Some(index) = (0..self.outers.len()).rev().find(|&index| of(index) == stack) {
            self.outers.cut(index);
        }
    }

    /// Forgets what a longjmp left: `stack` is the stack pointer, or so.
    pub fn forget_left(&self, stack: usize) {
        let before = self.outers.len();
        while let Some(index) = self.outers.len().checked_sub(1) {
            let entry = self.outers.get(index);
            let is_left = match entry.address & ON_ALTERNATE_STACK {
                0 => entry.address < stack,
                _ => !sys::is_on_alternate_stack(),
            };
            if !is_left {
                break;
            }
            self.outers.cut(index);
        }
        if self.outers.len() < before {
            self.forget_pause();
        }
    }

    /// A handler, or what code outside called, was left by a jump. Was it in a place to pause that it jumped out of, or that it had interrupted,
    /// then the thread is not there any more, unless another handler is that had interrupted it there.
    fn forget_pause(&self) {
        let paused = self.stack.get();
        let is_inside = |entry: OuterEntry| entry.address & ON_ALTERNATE_STACK != 0 || entry.address < paused;
        if paused != 0 && !(0..self.outers.len()).any(|index| is_inside(self.outers.get(index))) {
            self.stack.set(0);
            self.waits.store(wire::AT_CALL, Ordering::Relaxed);
        }
    }

    /// Whether the kernel still knows the thread.
    fn is_there(&self) -> bool {
        self.tid() == 0 || sys::is_thread(self.tid())
    }
}

impl Registry {
    fn take(&mut self) -> Option<&'static Member> {
        if self.free.is_null() {
            let slab = sys::map_private(SLAB).ok()?;
            for index in 0..SLAB / size_of::<Member>() {
                // SAFETY: inside the new mapping; zeros are a valid record.
                let member = unsafe { &*slab.add(index * size_of::<Member>()).cast::<Member>() };
                self.records += 1;
                member.number.set(self.records);
                member.next_of_all.set(self.all);
                member.next_free.set(self.free);
                (self.all, self.free) = (member, member);
            }
        }
        // SAFETY: the free list holds records.
        let member = unsafe { &*self.free };
        self.free = member.next_free.get();
        Some(member)
    }

    fn take_off(&mut self, member: &Member) {
        member.at.store(null_mut(), Ordering::Release);
        self.count -= 1;
    }

    fn put_away(&mut self, member: &Member) {
        member.next_free.set(self.free);
        self.free = member;
    }

    fn put_back(&mut self, member: &Member) {
        self.take_off(member);
        self.put_away(member);
    }

    fn members(&self) -> impl Iterator<Item = &'static Member> {
        let mut next = self.all;
        core::iter::from_fn(move || loop {
            // SAFETY: the list holds records, which are never unmapped.
            let member = unsafe { next.as_ref()? };
            next = member.next_of_all.get();
            if !member.at.load(Ordering::Acquire).is_null() {
                return Some(member);
            }
        })
    }
}

/// Looks at all members, none of which can begin or end meanwhile.
pub fn for_each(mut body: impl FnMut(&'static Member)) {
    with_registry(|registry| registry.members().for_each(&mut body));
}

/// What `body` says of the member with this number, if there is one; it does not end meanwhile.
pub fn with<R>(number: u32, body: impl FnOnce(&'static Member) -> R) -> Option<R> {
    with_registry(|registry| registry.members().find(|member| member.number() == number).map(body))
}

/// Whether all are as `body` says.
pub fn all(body: impl FnMut(&'static Member) -> bool) -> bool {
    with_registry(|registry| registry.members().all(body))
}

/// Whether the thread has left all instrumented functions.
pub fn is_outside(member: &'static Member) -> bool {
    protocol::released_at(member) == Some(address_of(&OUTSIDE)) && member.outers.len() == 0
}

/// Before threads are asked to stay: nothing is known of any of them.
pub fn forget_findings() {
    for_each(|member| {
        member.found.store(protocol::NOTHING_FOUND, Ordering::Release);
        member.passed.store(0, Ordering::Relaxed);
    });
}

/// How many.
pub fn count() -> u32 {
    with_registry(|registry| registry.count)
}

/// Takes out those that the kernel does not know any more.
pub fn forget_vanished() {
    with_registry(|registry| {
        let vanished = registry.members().filter(|member| !member.is_there());
        vanished.for_each(|member| {
            super::thread_ends(member);
            registry.put_back(member);
        });
    });
}

/// Before a fork.
pub fn before_fork() {
    LOCK.acquire();
}

/// After it, in the parent.
pub fn after_fork_in_parent() {
    LOCK.release();
}

/// After it, in the child: only the calling thread is there, under another id.
pub fn after_fork_in_child() {
    LOCK.reset();
    let survivor = known();
    with_registry(|registry| {
        let gone =
            registry.members().filter(|&member| !survivor.is_some_and(|own| core::ptr::eq(own, member)));
        gone.for_each(|member| {
            super::thread_ends(member);
            registry.put_back(member);
        });
    });
    if let Some(survivor) = survivor {
        survivor.tid.store(sys::thread_id(), Ordering::Relaxed);
    }
}

/// What the engine answers for a thread: see [`wire::ThreadAt`]. In a round, or where no unit can go.
pub fn describe(member: &Member) -> wire::ThreadAt {
    let at = protocol::released_at(member);
    let is_inside = !member.outers_are_empty();
    let birth = member.unsafe_birth().filter(|_| at.is_some());
    let passed = if at.is_none() { member.passed() } else { None };
    let unsafe_at =
        at.filter(|_| !member.is_found_outside()).or(passed).and_then(|at| member.unsafe_from(at));
    let location = unsafe_at.or(birth).or(at).or(passed).unwrap_or(AT_UNKNOWN);
    let found = units::locate(location);
    let state = match at {
        _ if location == address_of(&INTERRUPTED) => wire::AT_HANDLER,
        None if member.unsafe_outer() == Some(address_of(&INTERRUPTED)) => wire::AT_HANDLER,
        None => wire::AT_NOWHERE,
        Some(_) if birth.is_some() && unsafe_at.is_none() => wire::AT_BIRTH,
        Some(_) if found.is_none() && !is_inside => wire::AT_OUTSIDE,
        Some(_) => member.waits.load(Ordering::Relaxed),
    };
    let in_the_way = match unsafe_at {
        _ if member.is_still_let_go() => wire::NOT_IN_THE_WAY,
        Some(at) if depends_on_caller(at) && member.saw_caller() => wire::IN_THE_WAY_BY_CALLER,
        Some(at) if depends_on_caller(at) => wire::IN_THE_WAY_OF_UNKNOWN,
        None if at.is_some() && birth.is_none() => wire::NOT_IN_THE_WAY,
        _ => wire::IN_THE_WAY,
    };
    let (unit, location) = found.unwrap_or((0, 0));
    wire::ThreadAt { unit, location, thread: member.tid(), state, in_the_way }
}

impl Member {
    fn outers_are_empty(&self) -> bool {
        (0..self.outers.len()).all(|index| self.outers.get(index).at == AT_UNKNOWN)
    }

    /// Where it last went on while it is asked to stay, in code that is there.
    fn passed(&self) -> Option<usize> {
        let at = self.passed.load(Ordering::Relaxed) & !(SAW_CALLER | LET_GO);
        let is_asked = words::PENDING.load(Ordering::Relaxed) & protocol::UPDATE != 0;
        (is_asked && units::locate(at).is_some()).then_some(at)
    }

    /// Whether somebody saw who called it, where it is or went on.
    fn saw_caller(&self) -> bool {
        let passed = self.passed.load(Ordering::Relaxed) & SAW_CALLER != 0;
        passed || self.finding().is_some() || self.own_finding(look::round()).is_some()
    }

    fn is_still_let_go(&self) -> bool {
        words::PENDING.load(Ordering::Relaxed) & protocol::GO_ON != 0 && self.is_let_go()
    }
}
