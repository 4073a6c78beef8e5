//! The orders that a run can follow: the recorded total order, and the happens-before partial order (hb) that it
//! induces.
//!
//! hb is Bergan's (3.6.2): program order, create, join, and the order of the operations on each synchronization object,
//! with as little order on an object as its semantics allow, so that a run of another timing is still one of it.
//! Every edge goes forward in the recorded order, so the recorded order is one of its linearizations. Derived
//! events are no steps: nothing follows from their place (DETAILS 4). Failed operations have no edges with their
//! object (5b), unless the runtime does the call again and it must fail again: `walk::takes_effect`.
//!
//! What each class of objects asks for stands in its file: `locks` (mutexes, spin locks, readers and writers),
//! `counts` (semaphores, once), `waits` (condition variables, barriers); `walk` has the rules of threads and
//! puts them together. `reduce` leaves out what follows from the rest; `known` keeps what comes before each step;
//! `clock` is what both count with.
//!
//! Where this deviates from the papers:
//! - Readers of a lock are not ordered among each other, and a semaphore's wait follows one post, not all before.
//!   Both papers take every object's operations as a chain.
//! - A barrier's arrivals and departures are two moments, joined by a node of their own ([`Node::Gather`]), which
//!   gives N + N edges for N threads and no order among the departures (DETAILS 2).
//! - Two kinds of edges are not happens-before in the sense of C: [`EdgeKind::Notify`] and [`EdgeKind::ProcessEnd`].
//!   Without them a signal would come elsewhere in its target, and a process would end elsewhere in its threads.
//!
//! Limits: objects that follow each other at one address are not ordered with each other here; in a program without
//! races, what made the second life safe is in the schedule. Atomics and plain memory are not seen at all.

mod clock;
mod counts;
mod known;
mod locks;
mod reduce;
mod waits;
mod walk;

pub use known::Known;
pub use reduce::reduced;
pub(super) use waits::Waits;

use super::{Event, Schedule, ThreadId};
use crate::hooks::{Effect, Op};
use std::fmt;
use std::str::FromStr;

/// Which order a run follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Happens-before: threads wait for each other only where the schedule's synchronizations say so.
    #[default]
    Hb,
    /// The recorded total order.
    Total,
}

impl Order {
    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Hb => "hb",
            Order::Total => "total",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        [Order::Hb, Order::Total]
            .into_iter()
            .find(|order| order.name() == text)
            .ok_or_else(|| format!("expected hb or total, found `{text}`"))
    }
}

/// Why one node comes before another. Of two reasons for one pair the smaller counts: first those that need no
/// enforcing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// A thread's own order.
    Program,
    /// A create and the first step of the thread that it made.
    Create,
    /// The last step of a thread and its join.
    Join,
    /// A barrier's arrivals and their gather; a gather and the departures; a gather and the next of the same barrier.
    Gather,
    /// Operations on the same object; also a gather and the arrivals of the next generation.
    Object,
    /// A signal or cancellation request and the steps of its target on both sides of it.
    Notify,
    /// The end of the process and the steps of the other threads on both sides of it.
    ProcessEnd,
    /// The recorded total order.
    Total,
}

impl EdgeKind {
    /// Whether the order cannot be otherwise, so that nobody need enforce it.
    pub const fn is_implied(self) -> bool {
        matches!(self, EdgeKind::Program | EdgeKind::Create | EdgeKind::Join | EdgeKind::Gather)
    }
}

/// What edges connect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Node {
    /// The event with this index, which is not a derived one.
    Step(usize),
    /// [`Graph::gathers`] with this index: a generation of a barrier is complete.
    Gather(usize),
}

/// `from` comes before `to`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// The earlier one.
    pub from: Node,
    /// The later one.
    pub to: Node,
    /// Why.
    pub kind: EdgeKind,
}

/// An order of a schedule's steps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// Sorted by `to`, as the recorded order has it; a gather stands after the last of its arrivals.
    pub edges: Vec<Edge>,
    /// The arrivals of each complete generation of a barrier, by index of their events.
    pub gathers: Vec<Vec<usize>>,
}

/// Gives all edges of an order, as the rules give them: several may follow from others, and a pair may be there
/// twice. Sorted as in a [`Graph`]; gathers are numbered in order. The schedule has passed verify.
pub fn for_each_edge(schedule: &Schedule, order: Order, visit: impl FnMut(Edge)) {
    walk::walk(schedule, order, &mut Visitor { visit, gathers: 0 });
}

struct Visitor<F> {
    visit: F,
    gathers: usize,
}

impl<F: FnMut(Edge)> walk::Sink for Visitor<F> {
    type Mark = Node;

    fn step(&mut self, index: usize, _: ThreadId, sources: &mut Vec<walk::Source<Node>>) -> Node {
        let to = Node::Step(index);
        for source in sources {
            (self.visit)(Edge { from: source.mark, to, kind: source.kind });
        }
        to
    }

    fn gather(&mut self, _: usize, before: Option<&Node>, arrivals: &[waits::Arrival<Node>]) -> Node {
        let to = Node::Gather(self.gathers);
        self.gathers += 1;
        for &from in arrivals.iter().map(|arrival| &arrival.mark).chain(before) {
            (self.visit)(Edge { from, to, kind: EdgeKind::Gather });
        }
        to
    }
}

/// Whether an event is a step: all but derived ones.
pub fn is_step(event: &Event) -> bool {
    event.op != Op::derived
}

/// By thread: the indices of its events that are steps.
pub fn steps(schedule: &Schedule) -> Vec<Vec<usize>> {
    let mut steps = vec![Vec::new(); schedule.threads.len()];
    for (index, event) in schedule.events.iter().enumerate().filter(|(_, event)| is_step(event)) {
        steps[event.thread.0 as usize].push(index);
    }
    steps
}

/// Index of the event that ended the process: the first call of exit and its kin, or the return of main. `None` if
/// the last thread's end did, or if the end is not in the schedule.
pub fn process_end(schedule: &Schedule) -> Option<usize> {
    let mut main = MainThread::default();
    schedule.events.iter().position(|event| {
        let ends = main.ends_process(event);
        main.note(event);
        ends
    })
}

/// What has become of main, so that its return may be only its own.
#[derive(Default)]
struct MainThread {
    /// It has called `pthread_exit` or the like.
    ended: bool,
    /// Somebody has cancelled it; it may have returned before it noticed.
    cancelled: bool,
}

impl MainThread {
    fn note(&mut self, event: &Event) {
        self.ended |= event.thread == ThreadId::MAIN && event.op.effect() == Effect::EndThread;
        self.cancelled |=
            event.op == Op::pthread_cancel && event.child == Some(ThreadId::MAIN) && happened(event);
    }

    /// Whether the next event ends the process.
    fn ends_process(&self, event: &Event) -> bool {
        match event.op.effect() {
            Effect::EndProcess => true,
            // A thread that is cancelled leaves nowhere.
            Effect::Leave if self.cancelled && event.site.is_none() => false,
            Effect::Leave => event.thread == ThreadId::MAIN && !self.ended,
            _ => false,
        }
    }
}

/// Whether an operation did what it does: it succeeded, or the process ended inside of it, or it took a mutex whose
/// owner had died.
fn happened(event: &Event) -> bool {
    matches!(event.result, None | Some(0 | super::legal::errno::EOWNERDEAD))
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
