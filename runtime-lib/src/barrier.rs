//! Barriers, with queues of our own: each arrival belongs to exactly one generation, also where more threads
//! come than the barrier is for.
//!
//! An arrival, under the bucket's lock, writes its begin and joins the queue; the last of a generation takes
//! the others from it and is the serial thread. Not a cancellation point, so waiters sleep on a futex.
//! Barriers shared between processes are left to glibc.
//!
//! Under a plan the queue stays in use, so that a plan that is left in the middle of a generation leaves nobody
//! behind. Who is the serial thread is decided when the generation is complete: by the plan if all of
//! it followed the plan, else it is the last one.

use crate::enforce::{self, turn};
use crate::exports::is_barrier;
use crate::gate::{self, Event};
use crate::hook::{barrier_count, barrier_flags, Call};
use crate::parking::{bucket, Node, Taken};
use crate::threads::current;
use crate::{clock, delay, epoch, interpose, real, sys};
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};
use covsched_core::hooks::Op;
use covsched_core::plan::NONE;
use covsched_core::rawlog::{Phase, FLAG_SHARED, RESULT_PENDING};
use covsched_core::{Clock, SiteId};
use libc::{c_int, c_uint, c_void};

/// Someone at a barrier, on its own stack.
#[repr(C)]
struct Arrival {
    /// First: the queue knows only this.
    node: Node,
    released: AtomicU32,
    /// What the plan says that it returns, [`RESULT_PENDING`] if nothing; then what it returns.
    result: Cell<c_int>,
}

impl Arrival {
    /// # Safety
    /// A node in a barrier's queue.
    unsafe fn of(node: &Node) -> &Arrival {
        // SAFETY: every such node is the first field of an arrival, which waits to be released.
        unsafe { &*(node as *const Node).cast::<Arrival>() }
    }
}

/// Decides what each of a complete generation returns.
fn settle(last: &Arrival, others: &Taken) {
    let mut planned_serials = 0;
    let mut is_planned = true;
    each(last, others, |arrival| {
        is_planned &= arrival.result.get() != RESULT_PENDING;
        planned_serials += u32::from(arrival.result.get() == libc::PTHREAD_BARRIER_SERIAL_THREAD);
    });
    if !is_planned || planned_serials != 1 {
        each(last, others, |arrival| arrival.result.set(0));
        last.result.set(libc::PTHREAD_BARRIER_SERIAL_THREAD);
    }
}

fn each(last: &Arrival, others: &Taken, mut visit: impl FnMut(&Arrival)) {
    // SAFETY: taken from a barrier's queue.
    others.for_each(|node| visit(unsafe { Arrival::of(node) }));
    visit(last);
}

/// Arrives and waits for the others. Returns as pthread_barrier_wait does.
///
/// # Safety
/// As pthread_barrier_wait.
pub unsafe fn arrive(barrier: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: by the contract.
    let Some(thread) = current() else { return unsafe { interpose::real_barrier_wait(barrier) } };
    delay::point(thread);
    let object = barrier as usize;
    // SAFETY: by the contract.
    let (flags, others) =
        unsafe { (barrier_flags(barrier), (barrier_count(barrier) as usize).saturating_sub(1)) };
    let event = Event::new(Op::pthread_barrier_wait, site, object).flags(flags);
    let step = enforce::arrive(thread, event.phase(Phase::Begin));
    let end_step =
        step.and_then(|begin| thread.follower.peek_after(1).filter(|end| enforce::is_end_of(begin, end)));
    let planned = end_step.map_or(RESULT_PENDING, |end| end.result);
    let arrival =
        Arrival { node: Node::new(object, thread), released: AtomicU32::new(0), result: Cell::new(planned) };
    let is_own = flags & FLAG_SHARED == 0;
    let (begun, completed, is_last) = bucket(object).with(|queues| {
        let (begun, _) =
            gate::ordered(thread, Clock(clock::last(object)), event.phase(Phase::Begin).result(0), |clock| {
                clock::publish(object, clock)
            });
        if !is_own || queues.count(object, others) < others {
            let mut is_last = false;
            if is_own {
                // SAFETY: the arrival stays until it is released.
                unsafe { queues.push(&arrival.node) };
                is_last = is_barrier() && epoch::barrier::suspend(thread, site);
            }
            return (begun, None, is_last);
        }
        let generation = queues.take(object, usize::MAX);
        generation.for_each(|node| {
            node.waker.set(begun.0);
            epoch::taken(node);
        });
        settle(&arrival, &generation);
        (begun, Some(generation), false)
    });
    if is_last {
        epoch::barrier::begin_next(thread);
    }
    if let Some(step) = step {
        enforce::done(thread, step);
    }
    let (result, floor) = match completed {
        Some(generation) => {
            generation.for_each(release);
            (arrival.result.get(), begun.0)
        }
        None if is_own => {
            turn::blocked(thread, NONE, || {
                while arrival.released.load(Ordering::Acquire) == 0 {
                    sys::futex_wait(&arrival.released, 0);
                }
            });
            epoch::barrier::go_on(thread);
            (arrival.result.get(), arrival.node.waker.get())
        }
        // SAFETY: by the contract.
        None => {
            (epoch::outside(thread, || unsafe { interpose::real_barrier_wait(barrier) }), clock::last(object))
        }
    };
    let event = event.phase(Phase::End).result(result);
    let step = step.and_then(|_| enforce::arrive(thread, event));
    gate::completed(thread, Clock(floor), event);
    if let Some(step) = step {
        enforce::done_with(thread, step, event);
    }
    delay::point(thread);
    epoch::left_program_barrier(thread, site);
    result
}

/// Lets one go. It may be gone when this returns.
fn release(node: &Node) {
    let arrival = (node as *const Node).cast::<Arrival>();
    // SAFETY: every node in a barrier's queue is the first field of an arrival; it waits for the store, and
    // after that only its address is used.
    unsafe {
        let word = &raw const (*arrival).released;
        (*word).store(1, Ordering::Release);
        sys::futex_wake(word, 1);
    }
}

pub unsafe fn pthread_barrier_init(
    barrier: *mut c_void,
    attr: *mut c_void,
    count: c_uint,
    site: SiteId,
) -> c_int {
    let call =
        Call::new(Op::pthread_barrier_init, site, barrier).flags(barrier_flags).extra(u64::from(count));
    // SAFETY: the caller keeps the wrapped function's contract; so below.
    unsafe { call.init(|| real::pthread_barrier_init(barrier, attr, count)) }
}

pub unsafe fn pthread_barrier_destroy(barrier: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_barrier_destroy, site, barrier).flags(barrier_flags);
    // SAFETY: as above.
    unsafe { call.release(|| real::pthread_barrier_destroy(barrier)) }
}

pub unsafe fn pthread_barrier_wait(barrier: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    unsafe { arrive(barrier, site) }
}
