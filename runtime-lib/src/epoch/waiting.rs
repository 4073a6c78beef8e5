//! Queues of our own for what is not free: mutexes, rwlocks, spin locks, semaphores. Used with `epochs=barrier` only,
//! where "blocked" must be known.
//!
//! A waiter tries, joins the queue of its object, tries again, counts itself as blocked, and sleeps. Who gives something
//! up does the real thing and then looks whether the object's bucket has waiters: one load if it has none. If it has, it
//! takes the first of that object (all of an rwlock's, since several readers may go on), counts it as running, and wakes
//! it; the woken one tries again, and joins the queue again if somebody was faster. So no wake-up is lost: either
//! the second try comes after the release and succeeds, or the release comes after the waiter was added, and
//! finds it. Both sides have a full barrier between the two. And no thread that could run counts as blocked: the one who
//! woke it has counted it before it could itself stop.
//!
//! Code without hooks may give up an object without a look at our queues: so a sleeper tries again every
//! [`LOOK_AGAIN`] milliseconds. That is only a net; nothing with hooks needs it.
//!
//! Only the sleep of a semaphore's waiter is a cancellation point, and only there a signal handler ends the wait
//! (EINTR): always where there is a deadline, as in Linux, else if some handler of the process is not SA_RESTART. A
//! handler may post: the lock of a semaphore's bucket is held with signals blocked.
//!
//! Objects that other processes use, and mutexes that glibc or the kernel treats in other ways (robust, inheriting or
//! protecting priorities), are left to glibc: see [`is_own`]. Limit: an rwlock that prefers writers does not prefer them
//! to readers that come while a writer is in our queue.

use super::barrier;
use super::members::BLOCKED;
use crate::exports::is_barrier;
use crate::hook::{attempt, pthread_setcancelstate, rwlock_flags, sem_flags, word, PTHREAD_CANCEL_DISABLE};
use crate::parking::{Bucket, Node, Queues};
use crate::sys::{self, Deadline};
use crate::threads::Thread;
use crate::{guard, real};
use core::cell::UnsafeCell;
use core::sync::atomic::{fence, AtomicU32, Ordering};
use covsched_core::hooks::{Effect, ObjectClass, Op};
use covsched_core::SiteId;
use libc::{c_int, c_void, sem_t, timespec};

/// How often a sleeper tries on its own, in milliseconds.
const LOOK_AGAIN: u64 = 10;

const PLACES: usize = 256;

/// The queues of objects with one hash, and how many wait in them.
struct Place {
    bucket: Bucket,
    waiters: AtomicU32,
}

impl Place {
    const fn new() -> Place {
        Place { bucket: Bucket::new(), waiters: AtomicU32::new(0) }
    }
}

type Table = [Place; PLACES];

/// Apart: a handler that posts must not find a lock taken that its thread holds.
static LOCKS: Table = [const { Place::new() }; PLACES];
static SEMAPHORES: Table = [const { Place::new() }; PLACES];

/// What a thread wants.
#[derive(Clone, Copy)]
pub struct Want {
    /// The operation.
    pub op: Op,
    /// Where.
    pub site: SiteId,
    /// Of what.
    pub object: *mut c_void,
    /// Until when, and by which clock.
    pub deadline: Option<(c_int, *mut c_void)>,
}

/// Something that waits, on its thread's stack.
#[repr(C)]
struct Waiter<'a> {
    /// First: the queue knows only this.
    node: Node,
    /// Set by who takes it from the queue, under the lock.
    woken: AtomicU32,
    /// Posted then, where the sleep is a cancellation point. All zeros is a semaphore of value 0.
    sem: UnsafeCell<sem_t>,
    want: Want,
    place: &'a Place,
    until: UnsafeCell<(c_int, timespec)>,
}

fn is_semaphore(op: Op) -> bool {
    op.class() == ObjectClass::Semaphore
}

fn place(op: Op, object: usize) -> &'static Place {
    let table = if is_semaphore(op) { &SEMAPHORES } else { &LOCKS };
    &table[((object >> 3) ^ (object >> 11)) % PLACES]
}

/// Runs `body` with the queues of a place, alone.
fn with<R>(place: &Place, op: Op, body: impl FnOnce(&mut Queues<'_>) -> R) -> R {
    if !is_semaphore(op) {
        return place.bucket.with(body);
    }
    let mask = sys::block_signals();
    let result = place.bucket.with(body);
    sys::restore_signals(mask);
    result
}

/// Whether an object is waited for in our queues.
///
/// # Safety
/// A live object of the operation's class.
pub unsafe fn is_own(op: Op, object: *mut c_void) -> bool {
    /// Kinds of glibc's mutexes: robust, inheriting, protecting, of several processes.
    const OTHER_KINDS: u32 = 16 | 32 | 64 | 128;
    // SAFETY: by the contract; `__kind` is at 16.
    unsafe {
        match op.class() {
            ObjectClass::Mutex => word(object, 16) & OTHER_KINDS == 0,
            ObjectClass::Rwlock => rwlock_flags(object) == 0,
            ObjectClass::Semaphore => sem_flags(object) == 0,
            _ => true,
        }
    }
}

/// Whether an operation waits if it must.
pub fn may_wait(op: Op) -> bool {
    matches!(
        op.effect(),
        Effect::Acquire | Effect::TimedAcquire | Effect::AcquireShared | Effect::TimedAcquireShared
    )
}

/// Whether glibc would return at once with an error, although the object is not free: the thread itself has it, or
/// there is no such deadline.
///
/// # Safety
/// As [`is_own`], and the deadline is a timespec.
pub unsafe fn is_refused(want: &Want) -> bool {
    const ERRORCHECK: u32 = 2;
    // SAFETY: by the contract. glibc writes who holds a mutex (`__owner`, 8), and who writes under an rwlock
    // (`__cur_writer`, 24).
    unsafe {
        let has_no_time = want.deadline.is_some_and(|(clock, at)| {
            let nanoseconds = (*at.cast::<timespec>()).tv_nsec;
            !is_clock(clock) || !(0..1_000_000_000).contains(&nanoseconds)
        });
        has_no_time
            || match want.op.class() {
                ObjectClass::Mutex => {
                    word(want.object, 16) & 3 == ERRORCHECK && word(want.object, 8) == sys::thread_id()
                }
                ObjectClass::Rwlock => word(want.object, 24) == sys::thread_id(),
                _ => false,
            }
    }
}

/// Whether glibc waits by this clock.
pub fn is_clock(clock: c_int) -> bool {
    clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_MONOTONIC
}

/// Whether an attempt found that the object is not free.
pub fn is_busy(op: Op, result: c_int) -> bool {
    result == if is_semaphore(op) { libc::EAGAIN } else { libc::EBUSY }
}

/// Looks for a short while whether an object becomes free: what an attempt says then. Who holds a lock mostly gives it
/// up soon; a unit of a semaphore may come at any time.
///
/// # Safety
/// A live object of the operation's class.
pub unsafe fn look(op: Op, object: *mut c_void) -> c_int {
    const LOOKS: u32 = 40;
    let looks = match op.class() {
        ObjectClass::Spin => 4 * LOOKS,
        ObjectClass::Semaphore => 0,
        _ => LOOKS,
    };
    // SAFETY: by the contract; so below.
    let mut result = unsafe { attempt(op, object) };
    for _ in 0..looks {
        if !is_busy(op, result) {
            break;
        }
        core::hint::spin_loop();
        result = unsafe { attempt(op, object) };
    }
    result
}

/// Waits for an object that was not free: 0, or the errno.
///
/// # Safety
/// A live object of the operation's class that is waited for in our queues, and an operation that waits.
#[cold]
#[inline(never)]
pub unsafe fn wait(thread: &Thread, want: Want) -> c_int {
    // In a signal handler that interrupted another wait.
    let was_blocked = thread.member.stands() == BLOCKED;
    let waiter = Waiter {
        node: Node::new(want.object as usize, thread),
        woken: AtomicU32::new(0),
        // SAFETY: zeros are a semaphore.
        sem: UnsafeCell::new(unsafe { core::mem::zeroed() }),
        want,
        place: place(want.op, want.object as usize),
        until: UnsafeCell::new((libc::CLOCK_MONOTONIC, timespec { tv_sec: 0, tv_nsec: 0 })),
    };
    let result = loop {
        // SAFETY: by the contract; the waiter stays until it is not queued.
        unsafe {
            waiter.join_queue();
            if let Some(result) = waiter.wait_in_queue(thread) {
                break result;
            }
            let result = attempt(want.op, want.object);
            if !is_busy(want.op, result) {
                break result;
            }
        }
    };
    barrier::go_on(thread);
    if was_blocked && barrier::suspend(thread, want.site) {
        barrier::begin_next(thread);
    }
    result
}

impl Waiter<'_> {
    unsafe fn join_queue(&self) {
        with(self.place, self.want.op, |queues| {
            self.woken.store(0, Ordering::Relaxed);
            self.place.waiters.fetch_add(1, Ordering::SeqCst);
            // SAFETY: by the contract of wait.
            unsafe { queues.push(&self.node) };
        });
        fence(Ordering::SeqCst);
    }

    /// Waits until it is taken from the queue: `None`. Or until it has a result, and is in no queue.
    unsafe fn wait_in_queue(&self, thread: &Thread) -> Option<c_int> {
        let op = self.want.op;
        // SAFETY: by the contract of wait.
        unsafe {
            loop {
                let result = attempt(op, self.want.object);
                if !is_busy(op, result) {
                    self.give_up();
                    return Some(result);
                }
                // SAFETY: the program's deadline.
                let is_past =
                    self.want.deadline.is_some_and(|(clock, at)| sys::is_past(clock, at.cast::<timespec>()));
                if is_past {
                    self.give_up();
                    return Some(libc::ETIMEDOUT);
                }
                let is_last = with(self.place, op, |_| {
                    self.node.is_queued() && barrier::suspend(thread, self.want.site)
                });
                if is_last {
                    barrier::begin_next(thread);
                }
                self.set_until();
                match self.sleep(thread) {
                    0 => return None,
                    libc::EINTR if is_semaphore(op) && self.is_interrupted() => {
                        self.give_up();
                        return Some(libc::EINTR);
                    }
                    _ => (),
                }
            }
        }
    }

    /// Whether the operation ends when a handler has run.
    fn is_interrupted(&self) -> bool {
        self.want.deadline.is_some() || sys::has_interrupting_handler()
    }

    /// Until when it sleeps now: its deadline, or the next look if that comes first.
    unsafe fn set_until(&self) {
        let next_look = (libc::CLOCK_MONOTONIC, sys::time_in(libc::CLOCK_MONOTONIC, LOOK_AGAIN));
        // SAFETY: the program's deadline; the field is this thread's own.
        unsafe {
            *self.until.get() = match self.want.deadline {
                Some((clock, at)) if sys::is_within(clock, at.cast(), LOOK_AGAIN) => {
                    (clock, at.cast::<timespec>().read())
                }
                _ => next_look,
            };
        }
    }

    /// Sleeps: 0 if it was taken from the queue; else the errno.
    unsafe fn sleep(&self, thread: &Thread) -> c_int {
        let argument = (self as *const Self).cast_mut().cast::<c_void>();
        // SAFETY: the waiter outlives the guarded call; its time is its own.
        unsafe {
            if is_semaphore(self.want.op) {
                return guard::call(thread, sleep_cancellably, unwound, argument);
            }
            let (clock, until) = &*self.until.get();
            let slept = sys::futex_wait_until(&self.woken, 0, Deadline::At(*clock, until));
            if self.woken.load(Ordering::Acquire) != 0 {
                return 0;
            }
            slept.err().unwrap_or(libc::EAGAIN)
        }
    }

    /// Leaves the queue. If somebody has taken it from there, that was for nothing: the next one is woken.
    fn give_up(&self) {
        let was_queued = with(self.place, self.want.op, |queues| {
            let was_queued = queues.remove(&self.node);
            if was_queued {
                self.place.waiters.fetch_sub(1, Ordering::SeqCst);
            }
            was_queued
        });
        if !was_queued {
            wake(self.place, self.want.op, self.want.object as usize);
        }
    }

    /// # Safety
    /// A node in one of our queues.
    unsafe fn of(node: &Node) -> *const Waiter<'_> {
        // Every such node is the first field of a waiter.
        (node as *const Node).cast()
    }
}

/// As the sleep of a semaphore's waiter: a cancellation point.
unsafe extern "C" fn sleep_cancellably(waiter: *mut c_void) -> c_int {
    // SAFETY: as Waiter::sleep gives it.
    unsafe {
        let waiter = &*waiter.cast::<Waiter<'_>>().cast_const();
        let errno = real::errno();
        let (clock, until) = *waiter.until.get();
        let mut until = until;
        let returned = real::sem_clockwait(waiter.sem.get().cast(), clock, (&raw mut until).cast());
        let result = real::errno_result(returned);
        real::set_errno(errno);
        result
    }
}

/// Cancelled while it slept.
unsafe fn unwound(thread: &Thread, waiter: *mut c_void) {
    // SAFETY: as Waiter::sleep gave it; its frame is still there.
    let waiter = unsafe { &*waiter.cast::<Waiter<'_>>().cast_const() };
    let mut state = 0;
    // SAFETY: glibc's; a word of ours.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut state) };
    waiter.give_up();
    barrier::go_on(thread);
    // SAFETY: as above.
    unsafe { pthread_setcancelstate(state, core::ptr::null_mut()) };
}

/// An object was given up, a unit posted: who waits for it is woken.
#[inline(always)]
pub fn released(op: Op, object: *mut c_void) {
    if !is_barrier() {
        return;
    }
    // An unlock of a spin lock is a plain store on x86-64.
    fence(Ordering::SeqCst);
    let place = place(op, object as usize);
    if place.waiters.load(Ordering::Relaxed) != 0 {
        wake(place, op, object as usize);
    }
}

#[cold]
#[inline(never)]
fn wake(place: &Place, op: Op, object: usize) {
    let most = if op.class() == ObjectClass::Rwlock { usize::MAX } else { 1 };
    with(place, op, |queues| {
        queues.take(object, most).for_each(|node| {
            place.waiters.fetch_sub(1, Ordering::SeqCst);
            if let Some(thread) = node.thread() {
                barrier::resume(thread);
            }
            // SAFETY: taken from our queue; it is not gone before the lock is given back, or for the futex, before
            // the store, and then only its address is used.
            unsafe {
                let waiter = Waiter::of(node);
                if is_semaphore(op) {
                    real::sem_post((*waiter).sem.get().cast());
                } else {
                    let word = &raw const (*waiter).woken;
                    (*word).store(1, Ordering::Release);
                    sys::futex_wake(word, 1);
                }
            }
        });
    });
}

/// In a forked child: nobody waits.
pub fn reset() {
    for place in LOCKS.iter().chain(&SEMAPHORES) {
        place.bucket.reset();
        place.waiters.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
