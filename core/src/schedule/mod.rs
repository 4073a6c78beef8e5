//! Schedules: the order of a run's synchronizations.
//!
//! The model is here; [`Schedule::events`] is the total order, an event's place in it (from 1) its [`Seq`].
//! Operations that block in two steps (condition waits, barriers, the winner of a once) have a begin and an
//! end event. Derived events stand right before the true synchronization, in the same thread, that happened
//! inside of them; nothing follows from their place among other threads' events.
//!
//! - [`text`]: how a schedule is written to a `.sched` file; [`parse`] reads it
//! - [`verify`]: the invariants of a well-formed schedule
//! - [`legal`]: whether the order is one that the objects' semantics allow
//! - [`recording`]: what the runtime left in a recording folder; [`assemble`] makes a schedule of it
//! - [`epochs`]: where threads stopped at epoch markers, and which epoch an event is in
//! - [`frames`]: a thread's events as a tree of calls
//! - [`stack`]: the call stack of each event; [`describe`]: an event in words
//! - [`order`]: what follows what: happens-before, its reduction, the total order
//! - [`compile`]: the plan that the runtime follows; [`compare`]: whether a run that was recorded again is the same

pub mod assemble;
pub mod compare;
pub mod compile;
pub mod describe;
pub mod epochs;
mod fault;
pub mod frames;
pub mod legal;
mod lex;
pub mod order;
pub mod parse;
pub mod recording;
#[cfg(test)]
mod shuffle;
#[cfg(test)]
mod simulate;
pub mod stack;
pub mod text;
pub mod verify;

pub use epochs::{Boundary, EpochBoundary, EpochCounts, EpochId, Marker, StackHash};
pub use fault::Fault;

use crate::hooks::{ObjectClass, Op};
use crate::ids::{ProgramId, Seq, SiteId, ThreadId};
pub use crate::rawlog::Phase;
use crate::site::{Site, SiteKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A run's synchronizations, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// The executable, as it was named on the command line.
    pub program: String,
    /// Which build of it.
    pub program_id: ProgramId,
    /// The command line, the program included.
    pub command: Vec<String>,
    /// Whether the whole run is here.
    pub completeness: Completeness,
    /// The process was forked from one that was recorded: it starts in the middle of its parent's run, so
    /// objects may be held already, and t0 is the thread that forked.
    pub forked: bool,
    /// Threads; a thread's index is its [`ThreadId`].
    pub threads: Vec<Thread>,
    /// Synchronization objects; an object's index is its [`ObjectId`]. Ordered by first use.
    pub objects: Vec<Object>,
    /// Every site that an event, a thread or an epoch marker names.
    pub sites: BTreeMap<SiteId, Site>,
    /// The total order.
    pub events: Vec<Event>,
    /// Where epochs end and begin, in order; empty if the run stopped at no marker.
    pub epochs: Vec<EpochBoundary>,
}

/// Whether a schedule holds a whole run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Completeness {
    /// The process ended by exit, by return from main or by the end of its last thread, and nothing was lost.
    Complete,
    /// The end is missing; the reason in words (`killed by signal 9`, ...).
    Incomplete(String),
}

/// A thread of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Who made it; `None` for main and for threads made by code without hooks.
    pub parent: Option<ThreadId>,
    /// Which of the parent's creations it is, from 0.
    pub nth: u32,
    /// Where its function begins; `None` if that was not compiled with covsched.
    pub entry: Option<SiteId>,
}

/// An object's place in [`Schedule::objects`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(pub u32);

/// A synchronization object of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// What it is.
    pub class: ObjectClass,
    /// Its number among the objects of its class: `m0`, `m1`, ...
    pub number: u32,
    /// The variable it lives in, with an offset where it is part of one: `queue+8`.
    pub symbol: Option<String>,
    /// Whether it is shared with other processes, whose operations are not in the schedule.
    pub shared: bool,
    /// Recursive or error-checking, if it is a mutex and either.
    pub mutex_kind: MutexKind,
}

/// How a mutex treats a second lock by its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MutexKind {
    /// It deadlocks.
    #[default]
    Normal,
    /// It counts.
    Recursive,
    /// It fails with EDEADLK.
    ErrorChecking,
}

impl fmt::Display for Object {
    /// The canonical name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.class.prefix().unwrap_or("?"), self.number)
    }
}

/// One event of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub op: Op,
    /// Which moment of it.
    pub phase: Phase,
    /// Where; [`SiteId::NONE`] in code that covsched did not compile.
    pub site: SiteId,
    /// On what.
    pub object: Option<ObjectId>,
    /// The mutex of a condition wait.
    pub mutex: Option<ObjectId>,
    /// The thread made, joined, detached or notified.
    pub child: Option<ThreadId>,
    /// For a wait's end: the signal or broadcast that ended it. `None`: spurious, timed out, or foreign.
    pub waker: Option<Seq>,
    /// The initial count of a barrier or semaphore.
    pub count: Option<u32>,
    /// 0 or the errno (the exit status of the exit calls, -1 for a barrier's serial thread); `None` if the
    /// process ended inside the call, or if there is none (entry, derived, a wait's begin).
    pub result: Option<i32>,
    /// The operation was cancelled or otherwise unwound: it has ended, and the call did not return.
    pub unwound: bool,
    /// How many of the calls that its thread's derived events began it was made inside of: see [`stack`].
    pub depth: u32,
}

impl Schedule {
    /// Leaves synchronizations out: no run follows them. All others keep their numbers.
    pub fn leave_out(&mut self, sites: &BTreeSet<SiteId>) {
        for event in self.events.iter_mut().filter(|event| sites.contains(&event.site)) {
            let (site, depth) = (event.site, event.depth);
            *event = Event { site, depth, ..Event::new(event.thread, Op::derived) };
        }
    }
}

impl Event {
    /// An event with nothing but a thread and an operation.
    pub fn new(thread: ThreadId, op: Op) -> Event {
        Event {
            thread,
            op,
            phase: Phase::Both,
            site: SiteId::NONE,
            object: None,
            mutex: None,
            child: None,
            waker: None,
            count: None,
            result: None,
            unwound: false,
            depth: 0,
        }
    }

    /// What kind of synchronization it is.
    pub fn kind(&self) -> SiteKind {
        match self.op {
            Op::derived => SiteKind::Derived,
            Op::entry => SiteKind::Entry,
            Op::leave | Op::exit | Op::_exit | Op::_Exit | Op::quick_exit => SiteKind::Exit,
            _ => SiteKind::True,
        }
    }
}
