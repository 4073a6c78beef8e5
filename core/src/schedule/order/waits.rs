//! Condition variables and barriers.
//!
//! - Condition variable: a wait's end follows the signal or broadcast that ended it, which follows the wait's begin. All
//!   follow the init; the destroy follows all. Nothing else: a signal that woke nobody may come anywhere, and waits
//!   that end spuriously or at their deadline are ordered by their mutex alone.
//! - Barrier: all arrivals of a generation come before its gather, and the gather before its departures and before the
//!   arrivals of the next generation. All follow the init; the destroy follows the last gather (others may still be
//!   leaving). The generation is full when as many as the init's count have arrived; where the count is not known,
//!   at the latest when the first of its threads leaves. A barrier that is shared with other processes has no gather.

use super::locks::Fenced;
use super::walk::{Sink, Sources};
use crate::hooks::Effect;
use crate::ids::{Seq, ThreadId};
use crate::schedule::{legal, Event, Phase, Schedule};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What the ends of condition waits tell of their begins and wakers.
pub(in crate::schedule) struct Waits {
    /// Begins and ends of waits that were refused, so that the mutex was never given up.
    refused: HashSet<usize>,
    /// Begins of the waits that a signal or broadcast ended, by the index of the latter.
    woken: BTreeMap<usize, Vec<usize>>,
    /// How many waits that a signal or broadcast woke end.
    ends: HashMap<usize, usize>,
    /// Begins of `woken`.
    has_waker: HashSet<usize>,
}

impl Waits {
    /// Looks through the schedule.
    pub(in crate::schedule) fn new(schedule: &Schedule) -> Waits {
        let mut waits = Waits {
            refused: legal::failed_waits(schedule),
            woken: BTreeMap::new(),
            ends: HashMap::new(),
            has_waker: HashSet::new(),
        };
        let mut open: HashMap<ThreadId, Vec<usize>> = HashMap::new();
        for (index, event) in schedule.events.iter().enumerate() {
            match (event.op.effect(), event.phase) {
                (Effect::Wait | Effect::TimedWait, Phase::Begin) => {
                    open.entry(event.thread).or_default().push(index)
                }
                (Effect::Wait | Effect::TimedWait, _) => {
                    let begin = open.get_mut(&event.thread).and_then(Vec::pop);
                    waits.add_end(schedule, index, event, begin);
                }
                _ => {}
            }
        }
        waits
    }

    fn add_end(&mut self, schedule: &Schedule, index: usize, event: &Event, begin: Option<usize>) {
        let Some(begin) = begin else { return };
        if self.refused.contains(&begin) {
            self.refused.insert(index);
            return;
        }
        let Some(waker) = event.waker.and_then(|waker| schedule.index_of(waker)) else { return };
        *self.ends.entry(waker).or_default() += 1;
        // A shared condition variable may have been signalled by others: the waker is only the likely one.
        if begin < waker {
            self.woken.entry(waker).or_default().push(begin);
            self.has_waker.insert(begin);
        }
    }

    /// Whether this begin or end is of a wait that was refused.
    pub(in crate::schedule) fn is_refused(&self, index: usize) -> bool {
        self.refused.contains(&index)
    }

    /// Signals and broadcasts that ended a wait, by index of their events, numbered in order.
    pub(in crate::schedule) fn waker_numbers(&self) -> HashMap<usize, u32> {
        let mut wakers: Vec<usize> = self.ends.keys().copied().collect();
        wakers.sort_unstable();
        wakers.into_iter().zip(0..).collect()
    }
}

/// A condition variable.
pub(super) struct Cond<M> {
    /// Fences are init and destroy.
    uses: Fenced<M>,
    /// Begins whose waker is to come.
    begins: HashMap<usize, M>,
    /// Wakers with how many of their waits have not ended.
    wakers: HashMap<usize, (M, usize)>,
}

impl<M> Cond<M> {
    pub(super) fn new() -> Self {
        Cond { uses: Fenced::new(), begins: HashMap::new(), wakers: HashMap::new() }
    }
}

fn waker_index(waker: Seq) -> usize {
    waker.0 as usize - 1
}

impl<M: Clone> Cond<M> {
    pub(super) fn sources(
        &mut self,
        index: usize,
        event: &Event,
        waits: &Waits,
        sources: &mut Sources<'_, M>,
    ) {
        match event.op.effect() {
            Effect::Init | Effect::Destroy => return self.uses.follow_all(sources),
            Effect::Signal | Effect::Broadcast => {
                for begin in waits.woken.get(&index).into_iter().flatten() {
                    sources.object(&self.begins.remove(begin));
                }
            }
            _ => {
                let waker = event.waker.map(waker_index);
                if let Some((mark, left)) = waker.and_then(|waker| self.wakers.get_mut(&waker)) {
                    sources.object([&*mark]);
                    *left -= 1;
                    if *left == 0 {
                        waker.map(|waker| self.wakers.remove(&waker));
                    }
                }
            }
        }
        self.uses.follow_fence(sources);
    }

    pub(super) fn done(&mut self, index: usize, event: &Event, waits: &Waits, mark: &M) {
        match (event.op.effect(), event.phase) {
            (Effect::Init | Effect::Destroy, _) => return self.uses.set_fence(mark),
            (Effect::Signal | Effect::Broadcast, _) => {
                if let Some(&ends) = waits.ends.get(&index) {
                    self.wakers.insert(index, (mark.clone(), ends));
                }
            }
            (_, Phase::Begin) if waits.has_waker.contains(&index) => {
                self.begins.insert(index, mark.clone());
            }
            _ => {}
        }
        self.uses.add_use(event.thread, mark);
    }
}

/// A thread that has arrived at a barrier.
pub(super) struct Arrival<M> {
    pub index: usize,
    pub thread: ThreadId,
    pub mark: M,
}

/// A barrier.
pub(super) struct Barrier<M> {
    shared: bool,
    /// `None` if it is not known.
    count: Option<usize>,
    /// Fences are init, destroy and gathers; uses are arrivals that no gather has (and departures, if it is shared).
    uses: Fenced<M>,
    /// Arrivals of the generation that fills.
    arrived: Vec<Arrival<M>>,
    /// The last gather.
    gather: Option<M>,
    /// The gather of each thread that has not left.
    leaving: HashMap<ThreadId, M>,
}

impl<M> Barrier<M> {
    pub(super) fn new(shared: bool) -> Self {
        let (arrived, leaving) = (Vec::new(), HashMap::new());
        Barrier { shared, count: None, uses: Fenced::new(), arrived, gather: None, leaving }
    }
}

impl<M: Clone> Barrier<M> {
    pub(super) fn sources<S: Sink<Mark = M>>(
        &mut self,
        number: usize,
        event: &Event,
        sources: &mut Sources<'_, M>,
        sink: &mut S,
    ) {
        match (event.op.effect(), event.phase) {
            (Effect::Arrive, Phase::Begin) => self.uses.follow_fence(sources),
            (Effect::Arrive, _) => {
                if self.arrived.iter().any(|arrival| arrival.thread == event.thread) {
                    self.close(number, sink);
                }
                if let Some(gather) = self.leaving.remove(&event.thread) {
                    sources.gather(&gather);
                }
            }
            _ => self.uses.follow_all(sources),
        }
    }

    pub(super) fn done<S: Sink<Mark = M>>(
        &mut self,
        number: usize,
        index: usize,
        event: &Event,
        mark: &M,
        sink: &mut S,
    ) {
        match (event.op.effect(), event.phase) {
            (Effect::Arrive, Phase::Begin) => {
                self.uses.add_use(event.thread, mark);
                if !self.shared {
                    self.arrived.push(Arrival { index, thread: event.thread, mark: mark.clone() });
                    if Some(self.arrived.len()) == self.count {
                        self.close(number, sink);
                    }
                }
            }
            (Effect::Arrive, _) if self.shared => self.uses.add_use(event.thread, mark),
            (Effect::Arrive, _) => {}
            (effect, _) => {
                if effect == Effect::Init {
                    self.count = event.count.map(|count| count as usize);
                }
                self.uses.set_fence(mark);
            }
        }
    }

    /// The generation is complete.
    fn close<S: Sink<Mark = M>>(&mut self, number: usize, sink: &mut S) {
        let gather = sink.gather(number, self.gather.as_ref(), &self.arrived);
        for arrival in self.arrived.drain(..) {
            self.leaving.insert(arrival.thread, gather.clone());
        }
        self.uses.set_fence(&gather);
        self.gather = Some(gather);
    }
}
