//! Threads: descriptors, their numbers, and who is who.
//!
//! A descriptor, a few pages with the thread's log, is never given back but reused, so that a server with a
//! million short threads does not grow. It is free again when the thread has ended and nobody can join it any more.
//! `pthread_t` values are reused by glibc: the registry maps them to the descriptor of the thread that has
//! the value now, and numbers are given at creation.
//!
//! Everything shared here is under one lock, held shortly and with signals blocked: a thread is made, ended,
//! joined or detached, all of which cost much more.

use crate::enforce::{self, Follower};
use crate::lock::Lock;
use crate::log::{Log, Own};
use crate::markers::DerivedStack;
use crate::{delay, epoch, gate, meta, sys, tls};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::size_of;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use covsched_core::hooks::Op;
use covsched_core::plan::{Step, NONE};
use covsched_core::rawlog::NO_THREAD;
use covsched_core::{Clock, SiteId};
use libc::{c_ulong, pthread_key_t};

/// A thread that the runtime knows.
#[repr(C, align(64))]
pub struct Thread {
    /// Its last event's clock.
    pub clock: Own<u64>,
    /// The last clock of an event in a signal handler that interrupted the writing of another.
    pub handler_clock: Own<u64>,
    /// Its entry has not been written. Main's waits for `main_enter`, others' for any event.
    entry_pending: Own<bool>,
    /// Main, or the thread that forked.
    pub is_main: Own<bool>,
    /// Its `leave` or end of the process has been written.
    pub left: Own<bool>,
    /// Calls that may synchronize and that it is in.
    pub derived: DerivedStack,
    /// Where it is in the plan.
    pub follower: Follower,
    /// How it takes part in epochs.
    pub member: epoch::Member,
    /// State of its random delays, 0 for none.
    pub delay: Own<u64>,
    /// Its recording.
    pub log: Log,
    /// Its number in the recording.
    pub number: Own<u32>,
    /// How many threads it has made.
    pub children: Own<u32>,
    /// Where its function begins.
    pub entry_site: Own<SiteId>,
    /// Where it called pthread_exit.
    pub exit_site: Own<SiteId>,
    /// The innermost pthread_once that has not yet called its routine.
    pub once: Own<*const c_void>,
    /// What to do when an exception or cancellation unwinds the innermost guarded call.
    pub guard: Own<*const crate::guard::Guard>,
    /// What a new thread shall run: function and argument.
    pub start: Own<(*mut c_void, *mut c_void)>,
    /// What a new `std::thread` shall run, as a C++ object: see [`crate::cxx`].
    pub proxy: crate::cxx::StateProxy,
    /// Rounds of thread-specific destructors so far.
    rounds: Own<u32>,
    /// Its last clock, for who joins it.
    pub last_clock: AtomicU64,
    /// What the registry knows; under its lock.
    shared: UnsafeCell<Shared>,
}

// SAFETY: fields are the thread's own, atomic, or under the registry's lock.
unsafe impl Sync for Thread {}

struct Shared {
    /// The value that names it while `listed`.
    pthread: c_ulong,
    /// In the registry.
    listed: bool,
    /// It has been, as this thread.
    was_listed: bool,
    /// The thread has not ended.
    running: bool,
    /// It can still be joined or detached.
    joinable: bool,
    /// Somebody is joining it and will forget it.
    joining: bool,
    /// Who is counted as blocked until it ends.
    joiner: *const Thread,
    /// It has ended as far as epochs are concerned.
    has_left_epochs: bool,
    /// Next in the registry's chain, or in the free list.
    next: *const Thread,
    /// Next of all descriptors ever made.
    next_of_all: *const Thread,
}

const _: () = assert!(size_of::<Thread>() <= DESCRIPTOR);

/// Bytes of a descriptor: whole pages.
const DESCRIPTOR: usize = 3 * 4096;
const SLAB: usize = 16;
const CHAINS: usize = 256;

/// "Has ended" in the thread's word: its hooks do nothing any more.
const ENDED: usize = 1;

struct Registry {
    chains: [*const Thread; CHAINS],
    free: *const Thread,
    all: *const Thread,
}

struct Shelf(UnsafeCell<Registry>);

// SAFETY: only touched under LOCK.
unsafe impl Sync for Shelf {}

static LOCK: Lock = Lock::new();
static REGISTRY: Shelf =
    Shelf(UnsafeCell::new(Registry { chains: [null(); CHAINS], free: null(), all: null() }));
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);
/// The key whose destructor notices the end of a thread.
static END_KEY: AtomicU32 = AtomicU32::new(0);

/// Runs `body` with the registry, alone and undisturbed by signals.
fn with_registry<R>(body: impl FnOnce(&mut Registry) -> R) -> R {
    let mask = sys::block_signals();
    LOCK.acquire();
    // SAFETY: under the lock.
    let result = body(unsafe { &mut *REGISTRY.0.get() });
    LOCK.release();
    sys::restore_signals(mask);
    result
}

impl Thread {
    /// # Safety
    /// Under the registry's lock.
    #[allow(clippy::mut_from_ref)]
    unsafe fn shared(&self) -> &mut Shared {
        // SAFETY: the lock makes it the only one.
        unsafe { &mut *self.shared.get() }
    }

    /// Whether something must be written before the next event.
    #[inline(always)]
    pub fn has_outstanding(&self) -> bool {
        self.derived.has_unwritten() || self.entry_pending.get()
    }

    /// Whether its entry was to be written now. Main's is written by main itself.
    pub fn take_pending_entry(&self) -> bool {
        let pending = self.entry_pending.get() && !self.is_main.get();
        if pending {
            self.entry_pending.set(false);
        }
        pending
    }

    /// Main begins: whether for the first time.
    pub fn take_pending_main(&self) -> bool {
        let pending = self.entry_pending.get() && self.is_main.get();
        self.entry_pending.set(self.entry_pending.get() && !pending);
        pending
    }

    fn begin(&self, number: u32, parent: u32, nth: u32, clock: Clock) {
        self.clock.set(clock.0);
        self.handler_clock.set(0);
        self.entry_pending.set(true);
        self.is_main.set(false);
        self.left.set(false);
        self.derived.clear();
        self.follower.begin();
        self.member.begin();
        self.delay.set(delay::seed(number));
        self.log.begin(number, parent, nth);
        self.number.set(number);
        self.children.set(0);
        self.entry_site.set(SiteId::NONE);
        self.exit_site.set(SiteId::NONE);
        self.once.set(null());
        self.guard.set(null());
        self.start.set((null_mut(), null_mut()));
        self.rounds.set(0);
        self.last_clock.store(clock.0, Ordering::Relaxed);
    }
}

/// The calling thread, made known if it was not; `None` when it has ended or there is no memory.
#[inline(always)]
pub fn current() -> Option<&'static Thread> {
    let word = tls::get();
    if word > ENDED {
        // SAFETY: a descriptor, the thread's own until its end.
        return Some(unsafe { &*(word as *const Thread) });
    }
    if word == ENDED {
        return None;
    }
    adopt()
}

/// At start: makes the key, and the calling thread t0.
pub fn start() -> bool {
    let mut key: pthread_key_t = 0;
    // SAFETY: a live key and a destructor of the right type.
    if unsafe { libc::pthread_key_create(&mut key, Some(end_of_thread)) } != 0 {
        return false;
    }
    END_KEY.store(key, Ordering::Relaxed);
    let Some(thread) = adopt() else { return false };
    thread.is_main.set(true);
    thread.follower.take_part(MAIN_IN_PLAN);
    thread.follower.runs();
    epoch::start(thread);
    true
}

/// Main, in every plan.
const MAIN_IN_PLAN: u32 = 0;

/// Makes a thread known that no hook created.
#[cold]
#[inline(never)]
fn adopt() -> Option<&'static Thread> {
    // A signal handler in the middle would adopt it again.
    let mask = sys::block_signals();
    let thread = allocate();
    if let Some(thread) = thread {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        thread.begin(number, NO_THREAD, 0, Clock(0));
        take_over(thread);
    }
    sys::restore_signals(mask);
    if thread.is_none() {
        meta::note_lost_records();
    }
    thread
}

/// The calling thread becomes `thread`.
fn take_over(thread: &'static Thread) {
    let errno = crate::real::errno();
    tls::set(thread as *const Thread as usize);
    // SAFETY: a key of ours; the value is the descriptor.
    unsafe {
        libc::pthread_setspecific(
            END_KEY.load(Ordering::Relaxed),
            (thread as *const Thread).cast::<c_void>(),
        );
        list(thread, libc::pthread_self());
    }
    crate::real::set_errno(errno);
}

/// A descriptor for a thread about to be made by `parent`, at `clock`.
/// `step` is its creation in the plan.
pub fn prepare(
    parent: &Thread,
    number: u32,
    clock: Clock,
    joinable: bool,
    step: Option<&Step>,
) -> Option<&'static Thread> {
    let thread = allocate()?;
    thread.begin(number, parent.number.get(), parent.children.get(), clock);
    thread.follower.take_part(step.map_or(NONE, |step| step.aux));
    epoch::barrier::add_child(thread);
    with_registry(|_| {
        // SAFETY: under the lock.
        unsafe { thread.shared().joinable = joinable };
    });
    Some(thread)
}

/// A number for a thread about to be made.
pub fn next_number() -> u32 {
    NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// The thread was made: names it by its `pthread_t`. The thread itself does the same when it begins,
/// whichever comes first; once it has begun, the memory of the name may be gone.
///
/// # Safety
/// `pthread` points to the name if the thread has not begun.
pub unsafe fn created(thread: &'static Thread, number: u32, pthread: *const c_ulong) {
    with_registry(|registry| {
        // SAFETY: under the lock. A detached thread may have ended, and its descriptor have another owner.
        unsafe {
            let is_there = thread.shared().running || thread.shared().joinable;
            if thread.number.get() == number && is_there && !thread.shared().was_listed {
                registry.list(thread, pthread.read());
            }
        }
    });
}

/// The thread was not made after all.
pub fn not_created(thread: &'static Thread) {
    thread.follower.was_not_made();
    epoch::barrier::child_was_not_made(current(), thread);
    with_registry(|registry| registry.put_back(thread));
}

/// A new thread begins to run.
pub fn begin_created(thread: &'static Thread) {
    let mask = sys::block_signals();
    take_over(thread);
    thread.follower.runs();
    epoch::begin_thread(thread);
    sys::restore_signals(mask);
}

fn list(thread: &'static Thread, pthread: c_ulong) {
    with_registry(|registry| registry.list(thread, pthread));
}

/// A thread that the caller is about to join.
pub fn find_to_join(pthread: c_ulong) -> Option<&'static Thread> {
    with_registry(|registry| {
        let thread = registry.find(pthread)?;
        // SAFETY: under the lock.
        unsafe { thread.shared().joining = true };
        Some(thread)
    })
}

/// The calling thread waits for the end of one that takes part in epochs: counts it as blocked, unless that has ended.
/// True if it has to begin the next epoch.
#[must_use]
pub fn block_until_end(child: &Thread, joiner: &Thread, site: SiteId) -> bool {
    with_registry(|_| {
        // SAFETY: under the lock.
        let shared = unsafe { child.shared() };
        if !shared.running || shared.has_left_epochs {
            return false;
        }
        shared.joiner = joiner;
        epoch::barrier::suspend(joiner, site)
    })
}

/// It waits no longer.
pub fn unblock_join(child: &Thread, joiner: &Thread) {
    with_registry(|_| {
        // SAFETY: under the lock.
        let shared = unsafe { child.shared() };
        if core::ptr::eq(shared.joiner, joiner) {
            shared.joiner = null();
        }
    });
    epoch::barrier::go_on(joiner);
}

/// The thread leaves epochs for good. Who joins it runs before it itself is gone.
fn leave_epochs(thread: &Thread) {
    // From here on its joiner may run, and waits for its end in glibc: a marker in a handler must not stop it.
    epoch::unwound(thread, thread.member.inside.get() + 1);
    with_registry(|_| {
        // SAFETY: under the lock.
        let shared = unsafe { thread.shared() };
        shared.has_left_epochs = true;
        // SAFETY: descriptors are never unmapped; a joiner that gives up takes its name away first.
        if let Some(joiner) = unsafe { core::mem::replace(&mut shared.joiner, null()).as_ref() } {
            epoch::barrier::resume(joiner);
        }
    });
    epoch::barrier::end(thread);
}

/// What came of a join.
pub fn join_ended(thread: &'static Thread, joined: bool) {
    with_registry(|registry| {
        // SAFETY: under the lock.
        unsafe {
            thread.shared().joining = false;
            if joined {
                thread.shared().joinable = false;
                registry.settle(thread);
            }
        }
    });
}

/// The number of a thread in the recording, [`NO_THREAD`] if it is not known, and in the plan.
pub fn numbers_of(pthread: c_ulong) -> (u32, u32) {
    with_registry(|registry| {
        let thread = registry.find(pthread);
        thread.map_or((NO_THREAD, NONE), |thread| (thread.number.get(), thread.follower.number()))
    })
}

/// The thread with this number can no longer be joined.
pub fn detached(pthread: c_ulong, number: u32) {
    with_registry(|registry| {
        let Some(thread) = registry.find(pthread) else { return };
        if thread.number.get() == number {
            // SAFETY: under the lock.
            unsafe { thread.shared().joinable = false };
            registry.settle(thread);
        }
    });
}

impl Registry {
    fn chain(pthread: c_ulong) -> usize {
        // Thread descriptors of glibc lie at the ends of stacks: pages apart.
        ((pthread >> 12) ^ (pthread >> 23)) as usize % CHAINS
    }

    fn find(&self, pthread: c_ulong) -> Option<&'static Thread> {
        let mut at = self.chains[Self::chain(pthread)];
        while !at.is_null() {
            // SAFETY: chains hold descriptors; under the lock.
            let thread = unsafe { &*at };
            // SAFETY: under the lock.
            let shared = unsafe { thread.shared() };
            if shared.pthread == pthread {
                return Some(thread);
            }
            at = shared.next;
        }
        None
    }

    /// Names a thread. Another of that name has ended and was joined by code without hooks.
    fn list(&mut self, thread: &'static Thread, pthread: c_ulong) {
        // SAFETY: under the lock.
        unsafe {
            if thread.shared().listed {
                return;
            }
            if let Some(older) = self.find(pthread) {
                self.unlist(older);
                if !older.shared().joining {
                    older.shared().joinable = false;
                    self.settle(older);
                }
            }
            let chain = &mut self.chains[Self::chain(pthread)];
            let shared = thread.shared();
            (shared.pthread, shared.listed, shared.next) = (pthread, true, *chain);
            shared.was_listed = true;
            *chain = thread;
        }
    }

    fn unlist(&mut self, thread: &Thread) {
        // SAFETY: under the lock; chains hold descriptors.
        unsafe {
            if !thread.shared().listed {
                return;
            }
            let mut at: *mut *const Thread = &mut self.chains[Self::chain(thread.shared().pthread)];
            while !(*at).is_null() {
                if core::ptr::eq(*at, thread) {
                    *at = thread.shared().next;
                    break;
                }
                at = &mut (**at).shared().next;
            }
            thread.shared().listed = false;
        }
    }

    /// Frees the descriptor if nothing refers to the thread any more.
    fn settle(&mut self, thread: &'static Thread) {
        // SAFETY: under the lock.
        let shared = unsafe { thread.shared() };
        if !shared.running && !shared.joinable && !shared.joining {
            self.unlist(thread);
            self.put_back(thread);
        }
    }

    fn put_back(&mut self, thread: &'static Thread) {
        thread.number.set(NO_THREAD);
        // SAFETY: under the lock.
        unsafe {
            thread.shared().running = false;
            thread.shared().joinable = false;
            thread.shared().next = self.free;
        }
        self.free = thread;
    }

    /// A descriptor, from the free list or a new slab.
    fn take(&mut self) -> Option<&'static Thread> {
        if self.free.is_null() {
            let slab = sys::map_private(SLAB * DESCRIPTOR).ok()?;
            for index in (0..SLAB).rev() {
                // SAFETY: inside the new mapping; zeros are a valid descriptor.
                let thread = unsafe { &*slab.add(index * DESCRIPTOR).cast::<Thread>() };
                // SAFETY: under the lock.
                unsafe { thread.shared().next_of_all = self.all };
                self.all = thread;
                self.put_back(thread);
            }
        }
        // SAFETY: the free list holds descriptors; under the lock.
        unsafe {
            let thread = &*self.free;
            let shared = thread.shared();
            self.free = shared.next;
            (shared.running, shared.listed, shared.joinable, shared.joining) = (true, false, true, false);
            (shared.joiner, shared.has_left_epochs) = (null(), false);
            shared.was_listed = false;
            Some(thread)
        }
    }
}

fn allocate() -> Option<&'static Thread> {
    with_registry(Registry::take)
}

/// Destructor of the key: sets its value again until the last round, so that what other destructors do is
/// still recorded, then ends the thread.
unsafe extern "C" fn end_of_thread(value: *mut c_void) {
    const LAST_ROUND: u32 = 4; // PTHREAD_DESTRUCTOR_ITERATIONS of glibc
    let Some(thread) = current().filter(|&thread| core::ptr::eq(thread, value.cast())) else { return };
    let round = thread.rounds.get() + 1;
    thread.rounds.set(round);
    if round < LAST_ROUND {
        // SAFETY: a key of ours.
        unsafe { libc::pthread_setspecific(END_KEY.load(Ordering::Relaxed), value) };
        return;
    }
    if !thread.left.get() {
        thread.left.set(true);
        crate::markers::leave(thread, thread.exit_site.get());
    }
    enforce::thread_ended(thread);
    leave_epochs(thread);
    tls::set(ENDED);
    thread.log.finish();
    let clock = thread.clock.get().max(thread.handler_clock.get());
    thread.last_clock.store(clock, Ordering::Release);
    with_registry(|registry| {
        // SAFETY: under the lock.
        unsafe { thread.shared().running = false };
        registry.settle(thread);
    });
}

/// Before a fork: nobody is in the middle of a change until one of the two below runs.
pub fn before_fork() {
    LOCK.acquire();
}

/// After it, in the parent.
pub fn after_fork_in_parent() {
    LOCK.release();
}

/// After it, in the child: only the calling thread is there. Lets go of all logs, which are the parent's.
pub fn after_fork_in_child(survivor: Option<&'static Thread>) {
    LOCK.reset();
    NEXT_NUMBER.store(if survivor.is_some() { 1 } else { 0 }, Ordering::Relaxed);
    with_registry(|registry| {
        let mut at = registry.all;
        // SAFETY: all descriptors ever made, under the lock; their threads are gone.
        unsafe {
            while !at.is_null() {
                let thread = &*at;
                at = thread.shared().next_of_all;
                let is_survivor = survivor.is_some_and(|survivor| core::ptr::eq(survivor, thread));
                let was_in_use = thread.shared().running || thread.shared().joinable;
                thread.log.abandon();
                if was_in_use && !is_survivor {
                    registry.unlist(thread);
                    registry.put_back(thread);
                }
            }
        }
    });
}

/// In a forked child: the calling thread becomes t0 of a recording that has just begun. It is in the middle of its
/// function, so its entry is written anew.
pub fn begin_as_main(thread: &Thread) {
    thread.number.set(0);
    thread.children.set(0);
    thread.is_main.set(true);
    thread.log.begin(0, NO_THREAD, 0);
    if !thread.entry_pending.get() {
        let entry = gate::Event::new(Op::entry, thread.entry_site.get(), 0).result(0);
        gate::completed(thread, Clock(0), entry);
    }
}

/// Hooks in this thread do nothing from now on.
pub fn stop_recording_this_thread() {
    tls::set(ENDED);
}
