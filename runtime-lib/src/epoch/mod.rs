//! Epochs: what markers do (Bergan, "Avoiding State-Space Explosion in Multithreaded Programs", 3.2.2, 3.5, 3.6.2).
//!
//! While a run is recorded, a marker that is not passed by ([`shape`]) is a boundary between two epochs of its thread, and a
//! record says so. With `epochs=barrier` it is the epoch barrier of Fig. 3.6 as well ([`barrier`]): the thread stops until
//! every other thread that takes part stops at a marker, is blocked in a synchronization, is in a library call, or
//! has ended; then the next epoch starts for all that stop. What order an epoch has inside is asked of one trait
//! ([`select`]). Leaving a program's own barrier is a marker as well. [`id`] names epochs, [`waiting`] has the queues in which threads are blocked, [`members`] who takes part.
//!
//! # Why nobody waits for ever who would not without epochs
//! A thread stops at a marker only as long as some thread counts as running. So let one count as running, and look at
//! what it does:
//! - It computes. Then it comes to a marker, blocks, or ends, unless it loops for ever; a loop that waits for another
//!   thread by reading memory has a marker (the pass puts one into loops that spin on an atomic or volatile).
//! - It waits for a lock, a semaphore, a condition variable, a barrier. It waits in a queue of ours, and counted itself as
//!   blocked under that queue's lock. Who takes it from the queue, under that lock too, counts it as running; if
//!   nobody does, its deadline or its cancellation does. So it counts as blocked for as long as it is in the queue. Only
//!   what is not ours can be free while it sleeps there, and for that it looks every 10 ms.
//! - It joins. A thread that ends counts its joiner as running before itself as gone, both under the registry's lock.
//! - It waits in glibc or in the kernel: once, objects of several processes, robust mutexes, library calls with markers
//!   around them. It has left the epoch and is not waited for.
//! - It was made, and has not begun: the kernel will run it. It was counted before it was made, and is no longer if that
//!   failed.
//! - It is about to be let go by who begins an epoch: that one holds no lock of the program and waits for nobody.
//!
//! What a thread at a marker holds (Bergan's example: a lock that another one wants) it gives up in the next epoch, which
//! starts since the other is blocked. When nobody runs and nobody is at a marker, either all wait for each other, which
//! they would without epochs, or for something outside (a library call, a deadline), after which they go on.
//!
//! # Signal handlers, and calls inside of calls
//! A marker in a handler that interrupted a hook or a marker does nothing ([`Visit`]); posts wake as they do
//! elsewhere. A hook or marker inside of a library call that was left for (a callback, a handler) comes in for its own
//! length and goes out again: the call around it may still block. A call that was left by an exception or longjmp has
//! no `epoch_enter`: its thread is back for good when its stack of derived calls is shorter than at the leave; until
//! then it comes in for the length of each hook and marker, so nobody waits for it in between.
//!
//! From `exit`, or the return of main, the thread is out: handlers and destructors of code without hooks may wait for
//! threads that stop at markers.
//!
//! # Limits
//! - Code without hooks that waits for a thread of ours, in a call that no `epoch_leave` stands before, waits until that
//!   thread is not at a marker: if all others are, for ever.
//! - A handler that waits in a library call while the thread that it interrupted is at a marker or blocked counts as that
//!   thread does: when the next epoch starts it is waited for. Collectors that stop the world by signals hang.
//! - A handler that leaves a hook by longjmp, out of a lock that it waits for, leaves its place in the queue behind: the
//!   memory is then used after its end.
//! - Code with hooks, but compiled without markers, says nothing of the library calls that it waits in.
//! - A thread that has left an epoch may run again a moment before it says so: an epoch may start without it.

pub mod barrier;
mod id;
mod members;
mod select;
mod shape;
pub mod waiting;

pub use id::with_call;
pub use members::Member;

use crate::exports::{is_barrier, is_recording};
use crate::gate::{self, Event};
use crate::hook::pthread_testcancel;
use crate::parking::{bucket, Node};
use crate::threads::{current, Thread};
use crate::{delay, sys, tls};
use core::sync::atomic::{AtomicBool, Ordering};
use covsched_core::hooks::Op;
use covsched_core::site::{unit_name, TableHeader, Tables, UNIT_HAS_EPOCHS};
use covsched_core::{Clock, SiteId};
use libc::{c_int, c_void};
use members::{ABSENT, OUT, RUNS};
use shape::{Ahead, Length, Policies, Shape, Why};

/// Which markers are passed by.
static POLICIES: Policies = Policies::new();
/// The longest of the epochs that wait at the barrier.
static AHEAD: Ahead = Ahead::new();

/// As the options say. At start.
pub fn set_shape(markers: u64, instructions: u64, balance: Option<u64>) {
    POLICIES.set(markers, instructions, balance);
}

/// At start: main takes part. In every mode, since its markers may be recorded.
pub fn start(main: &'static Thread) {
    barrier::add_child(main);
    begin_thread(main);
}

/// A thread that takes part begins to run.
pub fn begin_thread(thread: &'static Thread) {
    if is_barrier() && thread.member.stands() != ABSENT {
        members::add(thread);
    }
}

/// A stay in the runtime, if epochs are barriers. Ended by hand: hook frames have no destructors.
#[derive(Clone, Copy)]
pub struct Visit {
    thread: Option<&'static Thread>,
    was_out: bool,
}

impl Visit {
    /// A hook begins, with `epochs=barrier`.
    pub fn begin() -> Visit {
        match current() {
            Some(thread) => Visit::of(thread),
            None => Visit { thread: None, was_out: false },
        }
    }

    fn of(thread: &'static Thread) -> Visit {
        let member = &thread.member;
        member.inside.set(member.inside.get() + 1);
        let was_out = member.stands() == OUT;
        if was_out {
            barrier::enter(thread);
        }
        Visit { thread: Some(thread), was_out }
    }

    /// It returns.
    #[inline(always)]
    pub fn end(self) {
        if let Some(thread) = self.thread {
            self.end_in_epoch(thread);
        }
    }

    #[inline(never)]
    fn end_in_epoch(self, thread: &Thread) {
        if self.was_out {
            // The call that it left for is still the same.
            let depth = thread.member.out_depth.get();
            barrier::leave(thread);
            thread.member.out_depth.set(depth);
        }
        unwound(thread, thread.member.inside.get().saturating_sub(1));
    }
}

/// The thread is in so many hooks: fewer than before where one was left without returning, or runs the program's code.
pub fn unwound(thread: &Thread, inside: u32) {
    thread.member.inside.set(inside);
}

/// A hook is about to be left by an exception, which ends no visit.
pub fn throws() {
    if let Some(thread) = current().filter(|_| is_barrier()) {
        unwound(thread, thread.member.inside.get().saturating_sub(1));
    }
}

/// A thread comes to a marker.
pub unsafe fn epoch_marker(site: SiteId) {
    if !is_recording() && !is_barrier() {
        // It follows a plan, which has no epochs.
        return;
    }
    let Some(thread) = current() else { return };
    let member = &thread.member;
    if member.inside.get() == 0 && member.stands() != ABSENT {
        come_to_marker(thread, site);
    }
}

/// As [`epoch_marker`], in a loop that does not synchronize: it may wait for memory that another thread writes, or only
/// walk through a list of atomic pointers. Who has come here so often in one epoch waits.
pub unsafe fn epoch_spin(site: SiteId) {
    if !is_recording() && !is_barrier() {
        return;
    }
    let Some(thread) = current() else { return };
    let spins = &thread.member.counts.spins;
    if spins.get() < SPINS {
        spins.set(spins.get() + 1);
    } else if thread.member.inside.get() == 0 && thread.member.stands() != ABSENT {
        come_to_marker(thread, site);
    }
}

/// How many markers of such loops a thread passes by in an epoch.
const SPINS: u32 = 1000;

/// Some unit of the program was compiled with markers, or none has said that it was not.
static HAS_EPOCHS: AtomicBool = AtomicBool::new(true);
/// Some unit was.
static IS_MARKED: AtomicBool = AtomicBool::new(false);
/// It has been said that some unit was not.
static HAS_WARNED: AtomicBool = AtomicBool::new(false);

/// Whether there is any marker to expect. Without, calls that block are not known either, and nobody may stop.
#[inline(always)]
pub fn has_epochs() -> bool {
    HAS_EPOCHS.load(Ordering::Relaxed)
}

/// A linked object registers its site tables.
pub fn register(tables: &[u8]) {
    let units = || Tables::new(tables);
    if units().any(|(header, _)| has_flag(&header)) {
        IS_MARKED.store(true, Ordering::Relaxed);
    }
    let is_marked = IS_MARKED.load(Ordering::Relaxed);
    HAS_EPOCHS.store(is_marked, Ordering::Relaxed);
    if !is_barrier() || !is_marked {
        return;
    }
    let Some((header, table)) = units().find(|(header, _)| !has_flag(header)) else { return };
    if !HAS_WARNED.swap(true, Ordering::Relaxed) {
        sys::write_error(&[
            "covsched: ",
            unit_name(&header, table),
            " was compiled without --epochs, other parts of the program with it: ",
            "a thread that waits in a library call there, or spins, may keep all others waiting\n",
        ]);
    }
}

fn has_flag(header: &TableHeader) -> bool {
    header.flags & UNIT_HAS_EPOCHS != 0
}

/// The thread has left a barrier of the program: with `epochs=barrier` that is a marker too, as in Bergan 3.3.1. Loops
/// that pass one have no other.
pub fn left_program_barrier(thread: &'static Thread, site: SiteId) {
    if is_barrier() && has_epochs() && thread.member.stands() == RUNS && site != SiteId::NONE {
        come_to_marker(thread, site);
    }
}

#[inline(always)]
fn come_to_marker(thread: &'static Thread, site: SiteId) {
    let member = &thread.member;
    let length = measure(thread);
    match POLICIES.bypasses(&length, &AHEAD) {
        Some(Why::Short) => member.counts.short.set(member.counts.short.get().saturating_add(1)),
        Some(Why::Balance) => member.counts.balanced.set(member.counts.balanced.get().saturating_add(1)),
        None => stop(thread, site, &length),
    }
}

/// How long the thread's epoch is, with the marker that it has come to.
#[inline(always)]
fn measure(thread: &Thread) -> Length {
    let counts = &thread.member.counts;
    if is_barrier() && counts.epoch.get() != barrier::epoch_word() {
        // It was blocked or out when the epoch started.
        counts.epoch.set(barrier::epoch_word());
        counts.markers.set(0);
        counts.at_start.set(counts.at_marker.get());
    }
    let (now, before) = (tls::instructions(), counts.at_marker.get());
    counts.at_marker.set(now);
    counts.markers.set(counts.markers.get() + 1);
    Length {
        markers: counts.markers.get(),
        instructions: now.wrapping_sub(counts.at_start.get()).max(0) as u64,
        is_counted: now != before,
    }
}

/// The marker is not passed by.
#[inline(never)]
fn stop(thread: &'static Thread, site: SiteId, length: &Length) {
    if thread.member.begins.get() {
        // A handler, in the middle of the start of an epoch.
        return;
    }
    let visit = Visit::of(thread);
    let counts = &thread.member.counts;
    // A thread that is cancelled at any time must not go while others count on it.
    let cancel_type = defer_cancellation();
    delay::point(thread);
    if is_recording() {
        let instructions = counts.at_marker.get().wrapping_sub(counts.at_stop.get());
        let passed_by = u64::from(counts.short.get()) | u64::from(counts.balanced.get()) << 32;
        let event = Event::new(Op::epoch_marker, site, thread.derived.hash() as usize)
            .extra(passed_by)
            .result(instructions.clamp(0, i64::from(i32::MAX)) as i32);
        gate::completed(thread, Clock(0), event);
    }
    counts.short.set(0);
    counts.balanced.set(0);
    counts.spins.set(0);
    counts.at_stop.set(counts.at_marker.get());
    if is_barrier() && thread.member.stands() == RUNS {
        barrier::stop(thread, site, length);
        counts.epoch.set(barrier::epoch_word());
    }
    counts.markers.set(0);
    counts.at_start.set(counts.at_marker.get());
    delay::point(thread);
    visit.end();
    restore_cancellation(cancel_type);
}

unsafe extern "C" {
    fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
}

/// `<pthread.h>`.
const PTHREAD_CANCEL_DEFERRED: c_int = 0;

/// What it was before.
fn defer_cancellation() -> c_int {
    let mut before = PTHREAD_CANCEL_DEFERRED;
    // SAFETY: a word of ours.
    unsafe { pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &mut before) };
    before
}

/// If it was asynchronous, a cancellation that came meanwhile happens here.
fn restore_cancellation(kind: c_int) {
    if kind != PTHREAD_CANCEL_DEFERRED {
        let mut before = 0;
        // SAFETY: a word of ours.
        unsafe { pthread_setcanceltype(kind, &mut before) };
    }
}

/// A thread is about to make a library call that may block.
pub unsafe fn epoch_leave() -> c_int {
    if !is_barrier() {
        return 0;
    }
    current().map_or(0, |thread| c_int::from(thread.member.inside.get() == 0 && barrier::leave(thread)))
}

/// That call has returned.
pub unsafe fn epoch_enter(left: c_int) {
    if left == 0 {
        return;
    }
    if let Some(thread) = current() {
        barrier::enter(thread);
    }
}

/// The thread's stack of derived calls is this deep now. If it was deeper when it went out, that call is over.
#[inline(always)]
pub fn derived_depth_is(thread: &Thread, depth: u32) {
    if is_barrier() && thread.member.stands() == OUT && depth < thread.member.out_depth.get() {
        barrier::enter(thread);
    }
}

/// The thread ends the process, or returns from main: from now on nobody waits for it.
pub fn process_ends(thread: &Thread) {
    if barrier::leave(thread) {
        thread.member.out_depth.set(0);
    }
}

/// Counts the thread as blocked, if nobody has taken it from its queue in [`crate::parking`].
pub fn block_while_queued(thread: &Thread, site: SiteId, node: &Node) {
    if !is_barrier() {
        return;
    }
    let is_last = bucket(node.object()).with(|_| node.is_queued() && barrier::suspend(thread, site));
    if is_last {
        barrier::begin_next(thread);
    }
}

/// Counts a thread as running that is being taken from such a queue, under its lock.
pub fn taken(node: &Node) {
    if !is_barrier() {
        return;
    }
    if let Some(thread) = node.thread() {
        barrier::resume(thread);
    }
}

/// A pending cancellation happens here, outside of our frames.
///
/// # Safety
/// The caller has nothing to undo.
pub unsafe fn cancellation_point(thread: &Thread) {
    let inside = thread.member.inside.get();
    unwound(thread, 0);
    // SAFETY: by the contract.
    unsafe { pthread_testcancel() };
    unwound(thread, inside);
}

/// Locks a mutex again at the end of a condition wait. Returns as pthread_mutex_lock does.
///
/// # Safety
/// As pthread_mutex_lock.
pub unsafe fn lock_again(thread: &Thread, mutex: *mut c_void, site: SiteId) -> c_int {
    let lock = || {
        // SAFETY: by the contract.
        unsafe { crate::real::pthread_mutex_lock(mutex) }
    };
    if !is_barrier() {
        return lock();
    }
    let want = waiting::Want { op: Op::pthread_mutex_lock, site, object: mutex, deadline: None };
    // SAFETY: by the contract.
    unsafe { get(thread, want, lock, |result| result) }
}

/// Gets something, with `epochs=barrier`. Returns what `real` would.
///
/// # Safety
/// A live object of the operation's class; `real` is the operation.
#[inline(never)]
pub unsafe fn get(
    thread: &Thread,
    want: waiting::Want,
    real: impl Fn() -> c_int,
    returns: fn(c_int) -> c_int,
) -> c_int {
    if !waiting::may_wait(want.op) {
        return real();
    }
    // SAFETY: by the contract.
    unsafe {
        if !waiting::is_own(want.op, want.object) {
            return outside(thread, real);
        }
        if want.deadline.is_some_and(|(clock, _)| !waiting::is_clock(clock)) {
            return real();
        }
        if want.op.class() == covsched_core::hooks::ObjectClass::Semaphore {
            cancellation_point(thread);
        }
        let result = waiting::look(want.op, want.object);
        if !waiting::is_busy(want.op, result) {
            return returns(result);
        }
        if waiting::is_refused(&want) {
            return real();
        }
        returns(waiting::wait(thread, want))
    }
}

/// Does what may wait for something that no queue of ours knows. If it is unwound, the thread is in no hook any more, and
/// comes in with its next.
pub fn outside<R>(thread: &Thread, body: impl FnOnce() -> R) -> R {
    let left = barrier::leave(thread);
    let inside = thread.member.inside.get();
    if left {
        unwound(thread, 0);
    }
    let result = body();
    if left {
        unwound(thread, inside);
        barrier::enter(thread);
    }
    result
}

/// In a forked child: epochs begin anew.
pub fn after_fork_in_child(survivor: Option<&'static Thread>) {
    waiting::reset();
    barrier::after_fork_in_child(survivor);
}

/// Whether a thread takes part: others may wait to join it.
pub fn takes_part(thread: &Thread) -> bool {
    thread.member.standing.load(Ordering::Relaxed) != ABSENT
}
