//! The plan: a schedule as the runtime follows it. `covsched run` compiles it ([`crate::schedule::compile`]), the
//! runtime maps it and parses nothing. Both sides come from one build, so the version is only there to
//! refuse a mix.
//!
//! # Files
//! `FILE` (option `plan=FILE`), read only: a [`PlanHeader`], then four arrays of plain records at the offsets that
//! the header names: [`PlanThread`]s, [`PlanObject`]s, [`Step`]s (each thread's steps follow each other, in the
//! thread's order), [`Link`]s. Numbers of threads and objects are those of the schedule.
//!
//! `FILE.status`, written by the runtime through a shared mapping, so that `covsched run` can read it while the
//! program runs and however it ends: a [`Status`], then one [`Progress`] a thread.
//!
//! # Steps
//! Every event of the schedule except derived ones is a step: a begin and an end are two. A thread's *position* is
//! how many of its steps it has done. A step may be done when all its `after` links are satisfied: link
//! `(thread, position)` says that this thread must have done at least so many steps. `before` links are the
//! same edges seen from the other end: `(thread, index)` is the step, by its index in that thread, that has an
//! `after` link to this one; who does a step with `before` links looks whether their threads sleep.
//!
//! Links are the transitive reduction of the chosen order, without what cannot be otherwise: a thread's own
//! order, a thread's creation before its first step, its last step before its join, a barrier's arrivals
//! before its departures.

use crate::rawlog::Plain;
use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Magic word of [`PlanHeader`].
pub const PLAN_MAGIC: [u8; 8] = *b"CVPLAN\0\0";
/// Magic word of [`Status`].
pub const STATUS_MAGIC: [u8; 8] = *b"CVSTAT\0\0";
/// Version of everything in this module.
pub const VERSION: u32 = 1;
/// "No object", "no thread", "no waker" in [`Step`] and [`Divergence`].
pub const NONE: u32 = u32::MAX;

/// [`PlanHeader::order`]: happens-before.
pub const ORDER_HB: u32 = 0;
/// [`PlanHeader::order`]: the recorded total order.
pub const ORDER_TOTAL: u32 = 1;

/// [`PlanHeader::flags`]: the schedule is complete, so a thread without [`THREAD_ENDS`] did nothing more before the
/// process ended.
pub const PLAN_COMPLETE: u32 = 1;

/// Head of a plan.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PlanHeader {
    /// [`PLAN_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// [`ORDER_HB`] or [`ORDER_TOTAL`].
    pub order: u32,
    /// [`crate::ProgramId`] of the program.
    pub program: u64,
    /// How many threads.
    pub threads: u32,
    /// How many objects.
    pub objects: u32,
    /// How many signals and broadcasts woke somebody: [`Step::aux`].
    pub wakers: u32,
    /// The `PLAN_` bits.
    pub flags: u32,
    /// How many steps.
    pub steps: u64,
    /// How many links.
    pub links: u64,
    /// Offset of the [`PlanThread`]s in the file. All offsets are multiples of 8.
    pub threads_at: u64,
    /// Offset of the [`PlanObject`]s.
    pub objects_at: u64,
    /// Offset of the [`Step`]s.
    pub steps_at: u64,
    /// Offset of the [`Link`]s.
    pub links_at: u64,
    /// Where the executable's site tables are by its own account: the rest is where it was loaded.
    pub site_tables: u64,
}

/// [`PlanThread::flags`]: made by code without hooks. It is known by its first step.
pub const THREAD_FOREIGN: u32 = 1;
/// [`PlanThread::flags`]: its end is in the schedule (its return, or its call that ends the process), so after its
/// last step it does nothing more.
pub const THREAD_ENDS: u32 = 2;
/// [`PlanThread::flags`]: a `pthread_cancel` of it succeeded, so that it may vanish in a cancellation point
/// that has no step.
pub const THREAD_CANCELLED: u32 = 4;

/// [`PlanThread::flags`]: a `pthread_kill` of it succeeded: another thread interrupts it.
pub const THREAD_SIGNALLED: u32 = 8;

/// A thread of a plan.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PlanThread {
    /// Index of its first step among all steps.
    pub first_step: u64,
    /// How many steps it has.
    pub steps: u32,
    /// The `THREAD_` bits.
    pub flags: u32,
}

/// [`PlanObject::flags`]: it has a name (static storage) or an init in the schedule. So one address is its own from
/// its first use or its init on, and another address is another object. What has neither (a `std::mutex` on
/// the heap) has no visible lifetime: its memory may have been several objects, one after the other.
pub const OBJECT_FIXED: u32 = 1;
/// [`PlanObject::flags`]: it has a name. Nothing else is ever in its place.
pub const OBJECT_STATIC: u32 = 4;
/// [`PlanObject::flags`]: shared with other processes, whose operations are not in the schedule.
pub const OBJECT_SHARED: u32 = 2;

/// An object of a plan.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PlanObject {
    /// The `OBJECT_` bits.
    pub flags: u32,
    /// Unused, 0.
    pub reserved: u32,
    /// Where it is in the executable, by its own account; 0 if it is elsewhere or that is not known.
    pub address: u64,
}

/// [`Step::flags`], of a condition wait's end: cancelled, or otherwise unwound.
pub const STEP_UNWOUND: u8 = 1;
/// [`Step::flags`], of a condition wait's begin and end: it is refused (EPERM, EINVAL); the mutex was never given up.
pub const STEP_REFUSED: u8 = 2;

/// One step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Step {
    /// [`crate::SiteId`]; 0 in code without hooks.
    pub site: u64,
    /// The object it works on, or [`NONE`].
    pub object: u32,
    /// By effect: the mutex of a wait's begin; the thread made, joined, detached or notified; the waker of a wait's
    /// end and of the signal or broadcast that it is, numbered from 0. Else [`NONE`].
    pub aux: u32,
    /// Index of its first link: `after` links, then `before` links.
    pub links: u32,
    /// How many `after` links, those of later events first: once the last is there, the others mostly are.
    /// [`MANY`]: a link whose two fields are both numbers stands before the links.
    pub after: u16,
    /// How many `before` links; not looked at if `after` is [`MANY`].
    pub before: u16,
    /// The result, [`crate::rawlog::RESULT_PENDING`] if the schedule has none.
    pub result: i32,
    /// [`crate::hooks::Op`] by number.
    pub op: u8,
    /// [`crate::rawlog::Phase`] by number.
    pub phase: u8,
    /// The `STEP_` bits.
    pub flags: u8,
    /// Unused, 0.
    pub reserved: u8,
}

/// [`Step::after`]: one of the two numbers is too large for its field.
pub const MANY: u16 = u16::MAX;

impl Step {
    /// Where its `after` and its `before` links are among all links.
    ///
    /// ```
    /// # use covsched_core::plan::{Link, Step, MANY};
    /// # let step = Step { site: 0, object: 0, aux: 0, links: 1, after: 1, before: 2, result: 0, op: 0, phase: 0, flags: 0, reserved: 0 };
    /// let link = |thread, position| Link { thread, position };
    /// let links = [link(9, 9), link(1, 2), link(0, 3), link(4, 5)];
    /// assert_eq!(step.links(&links), (&links[1..2], &links[2..4]));
    /// let step = Step { after: MANY, before: 0, links: 0, ..step };
    /// let links = [link(1, 2), link(1, 2), link(0, 3), link(4, 5)];
    /// assert_eq!(step.links(&links), (&links[1..2], &links[2..4]));
    /// ```
    #[inline(always)]
    pub fn links<'a>(&self, links: &'a [Link]) -> (&'a [Link], &'a [Link]) {
        self.checked_links(links).unwrap_or_default()
    }

    /// `None` in a damaged plan.
    #[inline(always)]
    fn checked_links<'a>(&self, links: &'a [Link]) -> Option<(&'a [Link], &'a [Link])> {
        let links = links.get(self.links as usize..)?;
        let (numbers, links) = match self.after {
            MANY => links.split_first().map(|(numbers, links)| (*numbers, links))?,
            after => (Link { thread: u32::from(after), position: u32::from(self.before) }, links),
        };
        let all = (numbers.thread as usize).checked_add(numbers.position as usize)?;
        Some(links.get(..all)?.split_at(numbers.thread as usize))
    }
}

/// One end of an edge; see the module's head.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(C)]
pub struct Link {
    /// The other thread.
    pub thread: u32,
    /// `after`: how many steps it must have done. `before`: the index of its step that waits.
    pub position: u32,
}

/// [`Status::state`]: the plan is followed.
pub const STATE_FOLLOWING: u32 = 0;
/// [`Status::state`]: a thread is writing [`Status::divergence`].
pub const STATE_DIVERGING: u32 = 1;
/// [`Status::state`]: the run has diverged, and goes on free or has been ended.
pub const STATE_DIVERGED: u32 = 2;

/// Head of a status file. Made by `covsched run` with the magic word and version set and the rest zeros.
#[derive(Debug)]
#[repr(C)]
pub struct Status {
    /// [`STATUS_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// The process that follows the plan, 0 at first; a second one (exec, or a child with the same program) does not.
    pub process: AtomicU32,
    /// One of the `STATE_` numbers. A futex word: who waits for a divergence waits here (not `FUTEX_PRIVATE`).
    pub state: AtomicU32,
    /// How many times a thread found that it does not follow the plan. Only the first is described.
    pub divergences: AtomicU32,
    /// The first one; complete when `state` is [`STATE_DIVERGED`].
    pub divergence: Divergence,
}

/// What a thread found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum DivergenceKind {
    /// Another operation, moment or place than the step's.
    OtherOperation = 1,
    /// The right operation on another object.
    OtherObject = 2,
    /// The right operation with another result.
    OtherResult = 3,
    /// The thread goes on after its last step.
    MoreEvents = 4,
    /// A thread that the plan does not have.
    UnknownThread = 5,
    /// The thread ended before its last step.
    EndedEarly = 6,
    /// Every thread waits for another: the run cannot follow the plan any further.
    Stuck = 7,
    /// Nothing has happened for as long as `stall=` says.
    Stalled = 8,
}

impl DivergenceKind {
    /// All of them.
    pub const ALL: [DivergenceKind; 8] = [
        DivergenceKind::OtherOperation,
        DivergenceKind::OtherObject,
        DivergenceKind::OtherResult,
        DivergenceKind::MoreEvents,
        DivergenceKind::UnknownThread,
        DivergenceKind::EndedEarly,
        DivergenceKind::Stuck,
        DivergenceKind::Stalled,
    ];

    /// By number.
    pub fn from_number(number: u32) -> Option<DivergenceKind> {
        DivergenceKind::ALL.into_iter().find(|&kind| kind as u32 == number)
    }
}

/// [`Divergence::actual_op`]: nothing was called.
pub const NO_OP: u32 = u32::MAX;

/// Where a run left the plan, and by what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Divergence {
    /// [`DivergenceKind`] by number.
    pub kind: u32,
    /// The thread, or [`NONE`].
    pub thread: u32,
    /// How many steps it had done: the index of the expected step, if it has one more.
    pub position: u32,
    /// What it did: [`crate::hooks::Op`] by number, or [`NO_OP`].
    pub actual_op: u32,
    /// Where, 0 if unknown.
    pub actual_site: u64,
    /// On what: an address, 0 if nothing.
    pub actual_address: u64,
    /// Which object of the plan has been at that address, or [`NONE`]. For operations on threads: which thread.
    pub actual_object: u32,
    /// With what result, [`crate::rawlog::RESULT_PENDING`] if that is not the matter.
    pub actual_result: i32,
    /// [`DivergenceKind::Stuck`] and [`DivergenceKind::Stalled`]: the step that it waits for, as an `after` link;
    /// thread [`NONE`] if it waits in the operation itself.
    pub waits_for: LinkOrNone,
}

/// A [`Link`], or thread [`NONE`].
pub type LinkOrNone = [u32; 2];

/// [`Progress::state`]: nobody has made it yet.
pub const NOT_MADE: u32 = 0;
/// [`Progress::state`]: it runs, or waits for something outside of the schedule.
pub const RUNNING: u32 = 1;
/// [`Progress::state`]: it waits for its turn.
pub const WAITING: u32 = 2;
/// [`Progress::state`]: it is in an operation that another thread must end (a join, a lock that is held).
pub const BLOCKED: u32 = 3;
/// [`Progress::state`]: it has ended.
pub const ENDED: u32 = 4;

/// What a thread shows to the others. Zeros at first. Three cache lines, by who reads them and how often they change:
/// what every step writes is apart from what others look at.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Progress {
    /// How many steps are done, as far as others wait for it: stored by steps with `before` links.
    pub done: AtomicU32,
    /// Unused, 0.
    pub reserved: AtomicU32,
    /// The clock of its last step, if the run is recorded.
    pub clock: AtomicU64,
    /// Unused, 0: up to the end of the cache line.
    pub gap: [AtomicU64; 6],
    /// How many steps are done: stored by every step.
    pub followed: AtomicU32,
    /// Its name to the kernel, as glibc writes it into mutexes.
    pub tid: AtomicU32,
    /// Unused, 0.
    pub second_gap: [AtomicU64; 7],
    /// While it sleeps for a link: `thread << 32 | position`, never 0 then.
    pub asleep: AtomicU64,
    /// The futex word that it sleeps on: 1 while it does.
    pub parked: AtomicU32,
    /// One of [`NOT_MADE`], [`RUNNING`], [`WAITING`], [`BLOCKED`], [`ENDED`].
    pub state: AtomicU32,
    /// While it is [`BLOCKED`]: the thread that must act, plus 1; 0 if that is not one thread, or not known.
    pub blocked_by: AtomicU32,
}

/// Bytes of a status file for so many threads.
pub const fn status_size(threads: usize) -> usize {
    STATUS_HEAD + threads * size_of::<Progress>()
}

/// Offset of the first [`Progress`].
pub const STATUS_HEAD: usize = 128;

// The layout is shared by two programs: pin it.
const _: () = assert!(size_of::<PlanHeader>() == 96);
const _: () = assert!(size_of::<PlanThread>() == 16);
const _: () = assert!(size_of::<Step>() == 32);
const _: () = assert!(size_of::<Link>() == 8);
const _: () = assert!(size_of::<Divergence>() == 48);
const _: () = assert!(size_of::<Status>() <= STATUS_HEAD);
const _: () = assert!(size_of::<Progress>() == 256);
const _: () = assert!(core::mem::offset_of!(Progress, followed) == 64);
const _: () = assert!(core::mem::offset_of!(Progress, asleep) == 128);

// SAFETY: repr(C), sizes pinned above to the sum of their fields, integers only.
unsafe impl Plain for PlanHeader {}
// SAFETY: as above.
unsafe impl Plain for PlanThread {}
// SAFETY: three integers, without padding.
unsafe impl Plain for PlanObject {}
// SAFETY: as above.
unsafe impl Plain for Step {}
// SAFETY: as above.
unsafe impl Plain for Link {}
// SAFETY: as above.
unsafe impl Plain for Divergence {}
