//! Condition variables, with queues of our own ([`crate::parking`]): so which signal woke which waiter is exact.
//!
//! A wait, under the bucket's lock, writes its begin and joins the queue; it then unlocks the mutex, sleeps on a
//! semaphore of its own (a cancellation point, as POSIX wants), locks the mutex and writes its end.
//! A signal, under the same lock, writes its record and takes the first waiter; then it wakes it.
//!
//! Under a plan nobody sleeps in the queue: a wait's end waits for its turn, which comes after the signal that ended
//! it in the schedule ([`wait_in_turn`]). Only a wait in which the schedule cancels the thread sleeps as
//! usual.
//!
//! Code without hooks may wait on the same condition variable: a signal that finds no waiter of ours is passed
//! on to glibc. It may signal too: see [`crate::interpose`]. Condition variables shared between processes,
//! and calls that glibc would refuse, are left to glibc.
//!
//! Limit: asynchronous cancellation during a wait, which POSIX does not allow either.

use crate::enforce::{self, turn};
use crate::gate::{self, Event};
use crate::hook::{
    attempt, cond_clock, cond_flags, pthread_setcancelstate, wait_for_object, Call, PTHREAD_CANCEL_DISABLE,
};
use crate::log::Slot;
use crate::parking::{bucket, Node};
use crate::threads::{current, Thread};
use crate::{clock, delay, epoch, exports, guard, interpose, real};
use core::cell::UnsafeCell;
use covsched_core::hooks::Op;
use covsched_core::plan::{DivergenceKind, Step, NONE, STEP_REFUSED, STEP_UNWOUND};
use covsched_core::rawlog::{Phase, FLAG_SHARED, FLAG_UNWOUND};
use covsched_core::{Clock, SiteId};
use libc::{c_int, c_void, sem_t, timespec};

/// Until when to wait.
#[derive(Clone, Copy)]
pub enum Limit {
    /// For ever.
    None,
    /// A deadline by the condition variable's clock.
    Deadline(*mut c_void),
    /// A deadline by a given clock.
    Clock(c_int, *mut c_void),
}

/// A waiter, on its own stack.
#[repr(C)]
struct Waiter {
    /// First: the queue knows only this.
    node: Node,
    /// Posted by who took the node from the queue. All zeros is a semaphore of value 0.
    sem: UnsafeCell<sem_t>,
    op: Op,
    site: SiteId,
    cond: *mut c_void,
    mutex: *mut c_void,
    limit: Limit,
    flags: u8,
}

impl Waiter {
    fn event(&self, phase: Phase) -> Event {
        Event::new(self.op, self.site, self.cond as usize).phase(phase)
    }
}

/// A condition wait of any kind. One that is refused, so that the mutex was never given up, has the error as
/// the result of its begin too. Returns as pthread_cond_wait does.
///
/// # Safety
/// As pthread_cond_wait.
pub unsafe fn wait(op: Op, cond: *mut c_void, mutex: *mut c_void, limit: Limit, site: SiteId) -> c_int {
    // SAFETY: by the contract.
    unsafe {
        let Some(thread) = current() else { return real_wait(cond, mutex, limit) };
        delay::point(thread);
        let waiter = Waiter {
            node: Node::new(cond as usize, thread),
            sem: UnsafeCell::new(core::mem::zeroed()),
            op,
            site,
            cond,
            mutex,
            limit,
            flags: cond_flags(cond),
        };
        let is_own = waiter.flags & FLAG_SHARED == 0 && is_valid(limit);
        if let Some(step) = arrive(thread, &waiter) {
            let result = if step.flags & STEP_REFUSED == 0 && is_own {
                wait_in_turn(thread, &waiter, step)
            } else {
                wait_outside(thread, &waiter, step)
            };
            delay::point(thread);
            return result;
        }
        let slot = begin(thread, &waiter, is_own);
        let (result, was_refused) = if is_own {
            wait_in_queue(thread, &waiter)
        } else {
            (wait_in_glibc(thread, &waiter), !is_valid(limit))
        };
        if was_refused {
            gate::returned(thread, slot, result);
        }
        end(thread, &waiter, result, 0);
        delay::point(thread);
        result
    }
}

/// Its turn, if there is a plan: the condition variable and the mutex are those of the step.
fn arrive(thread: &Thread, waiter: &Waiter) -> Option<&'static Step> {
    let event = waiter.event(Phase::Begin);
    let step = enforce::arrive(thread, event)?;
    let mutex = waiter.mutex as usize;
    let is_the_mutex =
        enforce::is_at(step.aux, mutex) || enforce::bind_mutex(thread, step.aux, mutex, &event);
    is_the_mutex.then_some(step)
}

/// A wait as the plan says. When the plan is left meanwhile, it ends as a spurious wake-up.
unsafe fn wait_in_turn(thread: &Thread, waiter: &Waiter, step: &'static Step) -> c_int {
    let end_step = thread.follower.peek_after(1).filter(|end| enforce::is_end_of(step, end));
    let is_unwound = end_step.is_some_and(|end| end.flags & STEP_UNWOUND != 0);
    // SAFETY: by the contract of wait; so below.
    unsafe {
        let slot = if is_unwound || exports::is_recording() {
            begin(thread, waiter, is_unwound)
        } else {
            Slot::NONE
        };
        let unlocked = real::pthread_mutex_unlock(waiter.mutex);
        if unlocked != 0 {
            if is_unwound {
                give_up(waiter, true);
            }
            gate::returned(thread, slot, unlocked);
            let event = waiter.event(Phase::Begin).result(unlocked);
            enforce::divergence::found(thread, DivergenceKind::OtherResult, &event);
            end(thread, waiter, unlocked, 0);
            return unlocked;
        }
        enforce::done(thread, step);
        if is_unwound {
            turn::begin_blocked(thread, NONE);
            let slept = guard::call(thread, sleep, wait_was_unwound, waiter as *const Waiter as *mut c_void);
            turn::end_blocked(thread);
            // Not cancelled after all: the plan was left, or is now.
            let slept = if slept != 0 && !give_up(waiter, false) { 0 } else { slept };
            let locked = real::pthread_mutex_lock(waiter.mutex);
            let result = if locked != 0 { locked } else { slept };
            if enforce::arrive(thread, waiter.event(Phase::End).result(result)).is_some() {
                let event = waiter.event(Phase::End).result(result);
                enforce::divergence::found(thread, DivergenceKind::OtherResult, &event);
            }
            end(thread, waiter, result, 0);
            return result;
        }
        if end_step.is_some_and(|end| end.result == libc::ETIMEDOUT) {
            let (clock, deadline) = match waiter.limit {
                Limit::Deadline(deadline) => (cond_clock(waiter.cond), deadline),
                Limit::Clock(clock, deadline) => (clock, deadline),
                Limit::None => (libc::CLOCK_REALTIME, core::ptr::null_mut()),
            };
            turn::sleep_until(thread, clock, deadline);
        }
        let Some(step) = enforce::arrive(thread, waiter.event(Phase::End)) else {
            let locked = real::pthread_mutex_lock(waiter.mutex);
            end(thread, waiter, locked, 0);
            return locked;
        };
        let mut result = attempt(Op::pthread_mutex_lock, waiter.mutex);
        if result == libc::EBUSY {
            let waited = wait_for_object(thread, Op::pthread_mutex_lock, waiter.mutex, None, step);
            result = waited.unwrap_or_else(|| real::pthread_mutex_lock(waiter.mutex));
        }
        if result == 0 && step.result == libc::ETIMEDOUT {
            result = step.result;
        }
        waiter.node.waker.set(enforce::waker_clock(step));
        end(thread, waiter, result, 0);
        enforce::done_with(thread, step, waiter.event(Phase::End).result(result));
        result
    }
}

/// A wait that glibc refuses, or on a condition variable of several processes: what ends it is not in the plan. The
/// end has its place in the thread's order only: the mutex is held already.
unsafe fn wait_outside(thread: &Thread, waiter: &Waiter, step: &'static Step) -> c_int {
    // SAFETY: by the contract of wait.
    unsafe {
        let slot = begin(thread, waiter, false);
        enforce::done(thread, step);
        let result = wait_in_glibc(thread, waiter);
        if step.flags & STEP_REFUSED != 0 {
            gate::returned(thread, slot, result);
        }
        end(thread, waiter, result, 0);
        end_in_thread(thread, waiter, result);
        result
    }
}

/// The end of a wait outside of the plan, if that is the thread's next step.
fn end_in_thread(thread: &Thread, waiter: &Waiter, result: c_int) {
    let is_end = |step: &&Step| step.op == waiter.op as u8 && step.phase == Phase::End as u8;
    if let Some(step) = thread.follower.peek().filter(is_end) {
        enforce::done_with(thread, step, waiter.event(Phase::End).result(result));
    }
}

/// Whether glibc would wait, not refuse.
unsafe fn is_valid(limit: Limit) -> bool {
    let (Limit::Deadline(deadline) | Limit::Clock(_, deadline)) = limit else { return true };
    if let Limit::Clock(clock, _) = limit {
        if clock != libc::CLOCK_REALTIME && clock != libc::CLOCK_MONOTONIC {
            return false;
        }
    }
    // SAFETY: a timespec, by the caller's contract.
    let nanoseconds = unsafe { (*deadline.cast::<timespec>()).tv_nsec };
    (0..1_000_000_000).contains(&nanoseconds)
}

unsafe fn begin(thread: &Thread, waiter: &Waiter, is_own: bool) -> Slot {
    let (cond, mutex) = (waiter.cond as usize, waiter.mutex as usize);
    bucket(cond).with(|queues| {
        let time = clock::now();
        // SAFETY: the mutex is live, by the contract of wait; so below.
        let floor = clock::last(cond).max(unsafe { clock::last_of_mutex(waiter.mutex, time) });
        let event = waiter.event(Phase::Begin).extra(mutex as u64).result(0).flags(waiter.flags);
        let (clock, slot) = gate::ordered_since(thread, time, Clock(floor), event, |clock| {
            clock::publish(cond, clock);
            // SAFETY: as above.
            unsafe { clock::publish_of_mutex(waiter.mutex, clock) };
        });
        waiter.node.begun.set(clock.0.max(time));
        if is_own {
            // SAFETY: the waiter stays until it is not queued.
            unsafe { queues.push(&waiter.node) };
        }
        slot
    })
}

fn end(thread: &Thread, waiter: &Waiter, result: c_int, flags: u8) {
    let waker = waiter.node.waker.get();
    let event = waiter.event(Phase::End).extra(waker).result(result).flags(waiter.flags | flags);
    if !exports::is_recording() {
        return;
    }
    let time = clock::now();
    // SAFETY: the mutex is live, by the contract of wait.
    let floor = waker.max(unsafe { clock::last_of_mutex(waiter.mutex, time) });
    gate::completed_since(thread, time, Clock(floor), event);
}

/// The result, and whether the wait was refused.
unsafe fn wait_in_queue(thread: &Thread, waiter: &Waiter) -> (c_int, bool) {
    let argument = waiter as *const Waiter as *mut c_void;
    // SAFETY: by the contract of wait; the waiter outlives the guarded call.
    unsafe {
        let unlocked = real::pthread_mutex_unlock(waiter.mutex);
        if unlocked != 0 {
            give_up(waiter, true);
            return (unlocked, true);
        }
        epoch::waiting::released(Op::pthread_mutex_unlock, waiter.mutex);
        epoch::block_while_queued(thread, waiter.site, &waiter.node);
        let mut slept = guard::call(thread, sleep, wait_was_unwound, argument);
        // A signal that came at the same time as the deadline wins.
        if slept != 0 && !give_up(waiter, false) {
            slept = 0;
        }
        epoch::barrier::go_on(thread);
        let locked = epoch::lock_again(thread, waiter.mutex, waiter.site);
        (if locked != 0 { locked } else { slept }, false)
    }
}

/// Sleeps until woken: 0, or until the deadline: ETIMEDOUT.
unsafe extern "C" fn sleep(waiter: *mut c_void) -> c_int {
    // SAFETY: as wait_in_queue gives it.
    unsafe {
        let waiter = &*waiter.cast::<Waiter>().cast_const();
        let errno = real::errno();
        let sem = waiter.sem.get().cast::<c_void>();
        loop {
            let returned = match waiter.limit {
                Limit::None => real::sem_wait(sem),
                Limit::Deadline(deadline) => real::sem_clockwait(sem, cond_clock(waiter.cond), deadline),
                Limit::Clock(clock, deadline) => real::sem_clockwait(sem, clock, deadline),
            };
            let result = real::errno_result(returned);
            if result != libc::EINTR {
                real::set_errno(errno);
                return result;
            }
        }
    }
}

/// Leaves the queue: true. If somebody has taken the waiter from it, waits for the post, which is on
/// its way: false. The signal is then the waiter's, unless `pass_on` gives it to the next one.
unsafe fn give_up(waiter: &Waiter, pass_on: bool) -> bool {
    let bucket = bucket(waiter.cond as usize);
    if bucket.with(|queues| queues.remove(&waiter.node)) {
        return true;
    }
    let sem = waiter.sem.get().cast::<c_void>();
    // SAFETY: a semaphore of ours. Not a place to be cancelled: either the thread is already being
    // unwound, or the post is at most a few instructions away.
    unsafe {
        let errno = real::errno();
        let mut state = 0;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut state);
        while real::sem_wait(sem) != 0 {}
        pthread_setcancelstate(state, core::ptr::null_mut());
        real::set_errno(errno);
    }
    if pass_on {
        let clock = waiter.node.waker.get();
        let next = bucket.with(|queues| {
            // Who began to wait after the signal was not meant.
            let taken = queues.take_begun_before(waiter.cond as usize, 1, clock);
            taken.for_each(|node| {
                node.waker.set(clock);
                epoch::taken(node);
            });
            taken
        });
        waiter.node.waker.set(0);
        next.for_each(post);
    }
    false
}

/// Cancellation, or pthread_exit in a signal handler: what woke the waiter, if anything, goes to the
/// next one; the mutex is held again, as POSIX wants, while the thread's own cleanups run.
unsafe fn wait_was_unwound(thread: &Thread, waiter: *mut c_void) {
    // SAFETY: as wait_in_queue gave it; its frame is still there.
    unsafe {
        let waiter = &*waiter.cast::<Waiter>().cast_const();
        turn::end_blocked(thread);
        give_up(waiter, true);
        epoch::barrier::go_on(thread);
        let step = enforce::arrive(thread, waiter.event(Phase::End));
        epoch::lock_again(thread, waiter.mutex, waiter.site);
        end(thread, waiter, 0, FLAG_UNWOUND);
        if let Some(step) = step {
            enforce::done(thread, step);
        }
    }
}

unsafe fn wait_in_glibc(thread: &Thread, waiter: &Waiter) -> c_int {
    unsafe extern "C" fn body(waiter: *mut c_void) -> c_int {
        // SAFETY: as given below.
        unsafe {
            let waiter = &*waiter.cast::<Waiter>().cast_const();
            real_wait(waiter.cond, waiter.mutex, waiter.limit)
        }
    }
    unsafe fn unwound(thread: &Thread, waiter: *mut c_void) {
        // glibc has locked the mutex already.
        epoch::barrier::enter(thread);
        // SAFETY: as given below; its frame is still there.
        let waiter = unsafe { &*waiter.cast::<Waiter>().cast_const() };
        end(thread, waiter, 0, FLAG_UNWOUND);
        end_in_thread(thread, waiter, 0);
    }
    // SAFETY: by the contract of wait.
    epoch::outside(thread, || unsafe {
        guard::call(thread, body, unwound, waiter as *const Waiter as *mut c_void)
    })
}

unsafe fn real_wait(cond: *mut c_void, mutex: *mut c_void, limit: Limit) -> c_int {
    // SAFETY: by the contract of wait.
    unsafe {
        match limit {
            Limit::None => real::pthread_cond_wait(cond, mutex),
            Limit::Deadline(deadline) => real::pthread_cond_timedwait(cond, mutex, deadline),
            Limit::Clock(clock, deadline) => real::pthread_cond_clockwait(cond, mutex, clock, deadline),
        }
    }
}

/// Wakes who was taken from the queue. The waiter may be gone when this returns.
fn post(node: &Node) {
    let waiter = (node as *const Node).cast::<Waiter>();
    // SAFETY: every node in a condition variable's queue is the first field of a waiter; it waits for this.
    unsafe { real::sem_post((*waiter).sem.get().cast()) };
}

/// How many a signal wakes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// `pthread_cond_signal`.
    One,
    /// `pthread_cond_broadcast`.
    All,
}

/// A signal or broadcast. Returns as pthread_cond_signal does.
///
/// # Safety
/// As pthread_cond_signal.
pub unsafe fn signal(op: Op, cond: *mut c_void, wake: Wake, site: SiteId) -> c_int {
    let Some(thread) = current() else {
        // SAFETY: by the contract.
        return unsafe { signal_glibc(cond, wake) };
    };
    delay::point(thread);
    // SAFETY: by the contract.
    let result = unsafe {
        let step = enforce::arrive(thread, Event::new(op, site, cond as usize));
        let result = signal_recorded(thread, op, cond, wake, site, step, false);
        if let Some(step) = step {
            enforce::done_with(thread, step, Event::new(op, site, cond as usize).result(result));
        }
        result
    };
    delay::point(thread);
    result
}

/// Whether the thread's next step is this signal, from code without hooks. Others of those are in no schedule.
fn signals_in_plan(thread: &Thread, op: Op, cond: *mut c_void) -> bool {
    let is_it =
        |step: &Step| step.op == op as u8 && step.site == 0 && enforce::is_at(step.object, cond as usize);
    !enforce::is_free() && thread.follower.peek().is_some_and(is_it)
}

/// As [`signal`], from code without hooks: of no interest unless it wakes a waiter of ours.
///
/// # Safety
/// As pthread_cond_signal.
pub unsafe fn foreign_signal(op: Op, cond: *mut c_void, wake: Wake) -> c_int {
    // SAFETY: by the contract.
    unsafe {
        match current() {
            Some(thread) if signals_in_plan(thread, op, cond) => signal(op, cond, wake, SiteId::NONE),
            Some(thread) => signal_recorded(thread, op, cond, wake, SiteId::NONE, None, true),
            None => signal_glibc(cond, wake),
        }
    }
}

unsafe fn signal_recorded(
    thread: &Thread,
    op: Op,
    cond: *mut c_void,
    wake: Wake,
    site: SiteId,
    step: Option<&'static Step>,
    only_if_waited_for: bool,
) -> c_int {
    let object = cond as usize;
    // SAFETY: by the contract.
    let flags = unsafe { cond_flags(cond) };
    let (slot, taken) = bucket(object).with(|queues| {
        // Under a plan the waiters know when they are woken. Those in the queue came after the plan was left, which
        // is then known here: their queue has the same lock.
        let follows = step.is_some() && !enforce::is_free();
        let taken = match (follows, wake) {
            (true, _) => queues.take(object, 0),
            (false, Wake::One) => queues.take(object, 1),
            (false, Wake::All) => queues.take(object, usize::MAX),
        };
        if only_if_waited_for && taken.is_empty() {
            return (Slot::NONE, taken);
        }
        let event = Event::new(op, site, object).flags(flags);
        let time = clock::now();
        let floor = Clock(clock::last(object));
        let publish = |clock| clock::publish(object, clock);
        let (clock, slot) = gate::ordered_since(thread, time, floor, event, publish);
        taken.for_each(|node| {
            node.waker.set(clock.0.max(time));
            epoch::taken(node);
        });
        if let Some(step) = step {
            enforce::note_waker(step, clock.0);
        }
        (slot, taken)
    });
    let was_waited_for = !taken.is_empty();
    taken.for_each(post);
    let result = if was_waited_for && wake == Wake::One {
        0
    } else {
        // SAFETY: by the contract: the caller sees to it that the object lives until this returns.
        unsafe { signal_glibc(cond, wake) }
    };
    gate::returned(thread, slot, result);
    result
}

unsafe fn signal_glibc(cond: *mut c_void, wake: Wake) -> c_int {
    // SAFETY: by the contract of signal.
    unsafe {
        match wake {
            Wake::One => interpose::real_cond_signal(cond),
            Wake::All => interpose::real_cond_broadcast(cond),
        }
    }
}

pub unsafe fn pthread_cond_init(cond: *mut c_void, attr: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_cond_init, site, cond).flags(cond_flags);
    // SAFETY: the caller keeps the wrapped function's contract; so below.
    unsafe { call.init(|| real::pthread_cond_init(cond, attr)) }
}

pub unsafe fn pthread_cond_destroy(cond: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_cond_destroy, site, cond).flags(cond_flags);
    // SAFETY: as above.
    unsafe { call.release(|| real::pthread_cond_destroy(cond)) }
}

pub unsafe fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    unsafe { wait(Op::pthread_cond_wait, cond, mutex, Limit::None, site) }
}

pub unsafe fn pthread_cond_timedwait(
    cond: *mut c_void,
    mutex: *mut c_void,
    deadline: *mut c_void,
    site: SiteId,
) -> c_int {
    // SAFETY: as above.
    unsafe { wait(Op::pthread_cond_timedwait, cond, mutex, Limit::Deadline(deadline), site) }
}

pub unsafe fn pthread_cond_clockwait(
    cond: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    deadline: *mut c_void,
    site: SiteId,
) -> c_int {
    // SAFETY: as above.
    unsafe { wait(Op::pthread_cond_clockwait, cond, mutex, Limit::Clock(clock, deadline), site) }
}

pub unsafe fn pthread_cond_signal(cond: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    unsafe { signal(Op::pthread_cond_signal, cond, Wake::One, site) }
}

pub unsafe fn pthread_cond_broadcast(cond: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    unsafe { signal(Op::pthread_cond_broadcast, cond, Wake::All, site) }
}
