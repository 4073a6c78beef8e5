//! Enforcing: each thread follows its steps of a plan (core's `plan` says what that is).
//!
//! A hook first arrives ([`arrive`]): its operation, place and object must be those of the thread's next step, and
//! the step's turn must have come. Then it does the real thing, with the outcome that the step names, and says so
//! ([`done`]). This is Wu's semaphore relay (3.3.2) with a counter a thread in the place of a semaphore a thread, and
//! Bergan's waiting for incoming edges (3.6.2) after the reduction that he proposes.
//!
//! A step without links costs a few loads and compares in memory that only its thread writes. No operation
//! on a mutex or a semaphore is skipped: code without hooks may use the same object.
//!
//! Whatever does not fit is a divergence ([`divergence`]). From then on every thread is free: hooks do what they do
//! without a plan. What must be right in the moments between:
//! - Who waits for its turn goes on. A condition wait ends as a spurious wake-up: its thread looks again and
//!   waits anew, in a queue that signals know.
//! - A signal that still follows its step looks into that queue too ([`crate::cond`]).
//! - A barrier's arrivals are always in the queue ([`crate::barrier`]), so nobody needs to be moved.
//!
//! Limit: a signal handler that synchronizes (`sem_post`) does so at a moment that nobody chose. It follows the
//! plan where that moment does not matter: while its thread waits for that post, or does nothing else.
//!
//! [`plan`] has the files, [`turn`] the waiting, [`objects`] who is who, [`stuck`] looks for the end of all
//! progress.

pub mod divergence;
mod objects;
mod plan;
mod stuck;
pub mod turn;

pub use objects::{bind_mutex, ended as object_ended, is_at};
pub use plan::{note_waker, start, waker_clock, Refusal};
pub use stuck::set_stall;

use crate::gate::Event;
use crate::log::Own;
use crate::sys;
use crate::threads::Thread;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};
use covsched_core::hooks::{Effect, ObjectClass, Op};
use covsched_core::plan::{
    DivergenceKind, Progress, Step, ENDED, MANY, NONE, NOT_MADE, OBJECT_SHARED, PLAN_COMPLETE, RUNNING,
    THREAD_CANCELLED, THREAD_ENDS, THREAD_FOREIGN, THREAD_SIGNALLED,
};
use covsched_core::rawlog::Phase;
use covsched_core::SiteId;

/// The run follows no plan (any more).
static FREE: AtomicBool = AtomicBool::new(true);

/// Whether the run follows no plan (any more).
#[inline(always)]
pub fn is_free() -> bool {
    FREE.load(Ordering::Relaxed)
}

/// Where a thread is in the plan. All zeros is one that follows none.
pub struct Follower {
    /// Its next step; null if it follows none.
    next: Own<*const Step>,
    first: Own<*const Step>,
    /// One past its last step.
    end: Own<*const Step>,
    progress: Own<*const Progress>,
    number: Own<u32>,
    /// A thread of code without hooks, before its first step says which one it is.
    is_stranger: Own<bool>,
    /// What it would do after its last step.
    wanted: Own<Option<Event>>,
    patience: turn::Patience,
    seen: turn::Seen,
}

impl Follower {
    /// Its thread begins; who it is comes later, or at its first step.
    pub fn begin(&self) {
        self.next.set(core::ptr::null());
        self.number.set(NONE);
        self.wanted.set(None);
        self.patience.begin();
        self.seen.begin();
        self.is_stranger.set(!is_free());
    }

    /// Its thread is this one of the plan.
    pub fn take_part(&self, number: u32) {
        if is_free() || number == NONE {
            return;
        }
        let Some((steps, progress)) = plan::thread(number) else { return };
        self.number.set(number);
        self.is_stranger.set(false);
        self.first.set(steps.as_ptr());
        self.end.set(steps.as_ptr_range().end);
        self.progress.set(progress);
        progress.state.store(RUNNING, Ordering::Relaxed);
        self.next.set(steps.as_ptr());
    }

    /// It was not made after all.
    pub fn was_not_made(&self) {
        if let Some(progress) = self.progress() {
            progress.state.store(NOT_MADE, Ordering::Relaxed);
        }
    }

    /// Its thread begins to run.
    pub fn runs(&self) {
        if let Some(progress) = self.progress() {
            progress.tid.store(sys::thread_id(), Ordering::Relaxed);
        }
    }

    /// Its number in the plan, or [`NONE`].
    pub fn number(&self) -> u32 {
        self.number.get()
    }

    fn progress(&self) -> Option<&'static Progress> {
        if self.next.get().is_null() {
            return None;
        }
        // SAFETY: set together with next; the status file stays mapped.
        Some(unsafe { &*self.progress.get() })
    }

    /// How many steps it has done.
    fn position(&self) -> u32 {
        if self.next.get().is_null() {
            return 0;
        }
        ((self.next.get() as usize - self.first.get() as usize) / size_of::<Step>()) as u32
    }

    /// Its next step.
    pub fn peek(&self) -> Option<&'static Step> {
        self.peek_after(0)
    }

    /// The step so many after its next.
    pub fn peek_after(&self, count: usize) -> Option<&'static Step> {
        let next = self.next.get();
        if next.is_null() {
            return None;
        }
        let step = next.wrapping_add(count);
        // SAFETY: inside of the thread's steps, in a mapping that stays.
        (step < self.end.get()).then(|| unsafe { &*step })
    }

    fn leave_plan(&self) {
        self.next.set(core::ptr::null());
        self.is_stranger.set(false);
    }
}

/// Whether the plan lets this operation be: the step that it is, or that there is no plan to ask.
#[derive(Clone, Copy)]
pub enum Turn {
    /// No plan.
    Free,
    /// It is this step, whose turn has come.
    Step(&'static Step),
    /// In the plan the thread is cancelled in here: no step says so.
    Vanishes,
}

/// A thread comes to an operation. The step that it is, when its turn has come; `None` if there is no plan to follow.
#[inline(always)]
pub fn arrive(thread: &Thread, event: Event) -> Option<&'static Step> {
    if let Some(turn) = arrive_at_once(thread, event) {
        return turn;
    }
    match arrive_slowly(thread, event, false) {
        Turn::Step(step) => Some(step),
        _ => None,
    }
}

/// As [`arrive`], for an operation that ends without an event if its thread is cancelled in it, if it is one.
#[inline(always)]
pub fn arrive_where_cancelled(thread: &Thread, event: Event) -> Turn {
    let is_cancellation_point = match event.op.effect() {
        Effect::Acquire | Effect::TimedAcquire => event.op.class() == ObjectClass::Semaphore,
        Effect::Join | Effect::TryJoin => event.op != Op::pthread_tryjoin_np,
        _ => false,
    };
    match arrive_at_once(thread, event) {
        Some(Some(step)) => Turn::Step(step),
        Some(None) => Turn::Free,
        None => arrive_slowly(thread, event, is_cancellation_point),
    }
}

/// What is usual: everything fits, and the object is known. The outer `None` if it is not so.
#[inline(always)]
fn arrive_at_once(thread: &Thread, event: Event) -> Option<Option<&'static Step>> {
    let follower = &thread.follower;
    let next = follower.next.get();
    if next.is_null() && !follower.is_stranger.get() {
        return Some(None);
    }
    if next.is_null() || next == follower.end.get() || is_free() {
        return None;
    }
    // SAFETY: inside of the thread's steps, in a mapping that stays.
    let step = unsafe { &*next };
    let is_known = || objects::is_at(step.object, event.object);
    let is_at_once = fits(step, &event)
        && is_known()
        // What may move may have moved meanwhile.
        && (step.after == 0 || (turn::wait(thread, step) && is_known()));
    is_at_once.then_some(Some(step))
}

#[inline(always)]
fn fits(step: &Step, event: &Event) -> bool {
    step.site == event.site.0
        && step.op == event.op as u8
        && (step.phase == event.phase as u8 || runs_once(step, event))
}

/// A once: whether its caller runs the routine is known only in the call.
#[inline(always)]
fn runs_once(step: &Step, event: &Event) -> bool {
    let may_run = event.op.effect() == Effect::RunOnce && event.phase == Phase::Both;
    may_run && step.phase == Phase::Begin as u8
}

#[inline(never)]
fn arrive_slowly(thread: &Thread, event: Event, may_vanish: bool) -> Turn {
    let follower = &thread.follower;
    let event = &event;
    loop {
        if is_free() {
            follower.leave_plan();
            return Turn::Free;
        }
        if follower.is_stranger.get() {
            introduce(thread, event);
            continue;
        }
        let Some(step) = follower.peek() else {
            wait_for_the_end(thread, event);
            continue;
        };
        if fits(step, event) {
            if objects::is_elsewhere(step, event) {
                divergence::found(thread, DivergenceKind::OtherObject, event);
                continue;
            }
            if step.after != 0 && !turn::wait(thread, step) {
                continue;
            }
            // Not before its turn: until then its place may be another's.
            if objects::is_at(step.object, event.object) || objects::bind(thread, step, event) {
                return Turn::Step(step);
            }
        } else if step.op == Op::entry as u8 && step.site == 0 && event.op != Op::entry {
            // The function of this thread was compiled without hooks.
            if step.after == 0 || turn::wait(thread, step) {
                done(thread, step);
            }
        } else if a_handler_posts_first(follower, event) {
            turn::wait_for_signal(thread, || has_units(event.object as *mut c_void));
        } else if may_vanish && plan::flags_of(follower.number()) & THREAD_CANCELLED != 0 {
            return Turn::Vanishes;
        } else {
            divergence::found(thread, DivergenceKind::OtherOperation, event);
        }
    }
}

/// A thread of code without hooks shows who it is by its first step, best by its object.
fn introduce(thread: &Thread, event: &Event) {
    let first = |steps: &'static [Step]| {
        let is_first = |step: &&Step| step.op != Op::entry as u8 || event.op == Op::entry;
        steps.iter().find(is_first).filter(|step| fits(step, event))
    };
    let known = |step: &Step| plan::object_address(step.object).filter(|_| event.object != 0);
    let by_object = |steps| {
        first(steps).is_some_and(|step| {
            objects::is_at(step.object, event.object) || known(step) == Some(event.object)
        })
    };
    let by_place = |steps| {
        let may_be = |step| known(step).is_none() && !objects::is_elsewhere(step, event);
        first(steps).is_some_and(may_be)
    };
    match plan::claim_foreign(by_object).or_else(|| plan::claim_foreign(by_place)) {
        Some(number) => {
            thread.follower.take_part(number);
            thread.follower.runs();
        }
        None => divergence::found(thread, DivergenceKind::UnknownThread, event),
    }
}

/// The thread has no more steps. Where the schedule does not have its end, it got no further in the recorded run
/// either: it waits for the end of the process. In a schedule that was cut off, which has no such end, it waits until
/// all others are as far.
fn wait_for_the_end(thread: &Thread, event: &Event) {
    let has_ended = plan::flags_of(thread.follower.number()) & THREAD_ENDS != 0;
    let is_cut_off = plan::flags() & PLAN_COMPLETE == 0;
    if has_ended || turn::wait_at_the_end(thread, event, is_cut_off) {
        divergence::found(thread, DivergenceKind::MoreEvents, event);
    }
}

/// A wait for a semaphore that, in the plan, this very thread posts before the wait is over: in a signal handler,
/// which comes when it comes.
fn a_handler_posts_first(follower: &Follower, event: &Event) -> bool {
    let is_wait = matches!(event.op.effect(), Effect::Acquire | Effect::TimedAcquire);
    if !is_wait || event.op.class() != ObjectClass::Semaphore {
        return false;
    }
    if has_units(event.object as *mut c_void) {
        // It need not wait: nobody has to come.
        return false;
    }
    let mut at = 0;
    while let Some(step) = follower.peek_after(at) {
        if step.op != Op::sem_post as u8 {
            let posts_the_same = follower.peek().is_some_and(|post| post.object == step.object);
            return at > 0 && fits(step, event) && posts_the_same;
        }
        at += 1;
    }
    false
}

/// Whether a semaphore that the thread is about to wait for has something to give.
pub fn has_units(sem: *mut c_void) -> bool {
    let mut units = 0;
    // SAFETY: the program's own, which it is about to use.
    unsafe { crate::real::sem_getvalue(sem, (&raw mut units).cast()) };
    units > 0
}

/// Whether another thread of the plan sends signals to this one.
pub fn is_signalled(thread: &Thread) -> bool {
    plan::flags_of(thread.follower.number()) & THREAD_SIGNALLED != 0
}

/// The step has been done.
#[inline(always)]
pub fn done(thread: &Thread, step: &'static Step) {
    let follower = &thread.follower;
    let next = follower.next.get();
    if next.is_null() {
        return;
    }
    follower.next.set(next.wrapping_add(1));
    let position = follower.position();
    // SAFETY: set together with next; the status file stays mapped.
    let progress = unsafe { &*follower.progress.get() };
    if crate::exports::is_recording() {
        progress.clock.store(thread.clock.get().max(thread.handler_clock.get()), Ordering::Relaxed);
    }
    progress.followed.store(position, Ordering::Relaxed);
    if step.before != 0 || step.after == MANY {
        turn::publish(follower.number(), progress, step, position);
    }
}

/// As [`done`]; if the operation had another result than its step says, that is a divergence.
#[inline(always)]
pub fn done_with(thread: &Thread, step: &'static Step, event: Event) {
    use covsched_core::rawlog::RESULT_PENDING;
    if step.result != event.result && step.result != RESULT_PENDING && event.result != RESULT_PENDING {
        divergence::found(thread, DivergenceKind::OtherResult, &event);
    }
    done(thread, step);
}

/// The thread has done its last event.
pub fn thread_ended(thread: &Thread) {
    let follower = &thread.follower;
    if let Some(progress) = follower.progress() {
        if follower.peek().is_some() && !is_free() {
            let event = Event::new(Op::leave, thread.exit_site.get(), 0);
            divergence::found(thread, DivergenceKind::EndedEarly, &event);
        }
        progress.state.store(ENDED, Ordering::Release);
    }
    follower.leave_plan();
}

/// The process is about to end, in this thread.
pub fn process_ended() {
    let Some(thread) = crate::threads::current().filter(|thread| follows(thread)) else { return };
    if thread.follower.peek().is_some() {
        divergence::found(thread, DivergenceKind::EndedEarly, &Event::new(Op::exit, SiteId::NONE, 0));
    }
}

/// In a forked child: the plan is the parent's.
pub fn after_fork_in_child(survivor: Option<&Thread>) {
    FREE.store(true, Ordering::Relaxed);
    if let Some(thread) = survivor {
        thread.follower.leave_plan();
    }
}

/// An operation on another thread: whether it is the one that the step names.
pub fn is_thread(thread: &Thread, step: &'static Step, event: &Event, number: u32) -> bool {
    // One of code without hooks is not known before its first hook.
    let may_be_unknown = step.aux == NONE || (number == NONE && is_foreign(plan::flags_of(step.aux)));
    if step.aux == number || may_be_unknown {
        return true;
    }
    divergence::found_other_thread(thread, event, number);
    false
}

/// Whether a plan's thread is made by code without hooks.
fn is_foreign(flags: u32) -> bool {
    flags & THREAD_FOREIGN != 0
}

/// Whether the thread follows a plan.
pub fn follows(thread: &Thread) -> bool {
    !is_free() && thread.follower.progress().is_some()
}

/// Whether the step's object is shared with other processes.
pub fn is_shared(step: &Step) -> bool {
    plan::object_flags(step.object) & OBJECT_SHARED != 0
}

/// The thread of the plan with this name to the kernel, or [`NONE`].
pub fn thread_with(tid: u32) -> u32 {
    let found =
        plan::all_progress().iter().position(|one| tid != 0 && one.tid.load(Ordering::Relaxed) == tid);
    found.map_or(NONE, |number| number as u32)
}

/// The step is the end of an operation whose begin is the one before.
pub fn is_end_of(begin: &Step, end: &Step) -> bool {
    end.op == begin.op && end.phase == Phase::End as u8 && end.object == begin.object
}
