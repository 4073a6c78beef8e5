//! Goes through a schedule once, in recorded order, and says of each step which earlier nodes it follows directly.
//!
//! Rules of threads:
//! - A step follows its thread's step before. A thread's first step follows its create.
//! - A join that succeeded follows the thread's last step, or its create if it had none.
//! - A signal or cancellation that was sent follows its target's last step and comes before its next one.
//! - The end of the process (exit and its kin, main's return) follows the last step of every other thread and comes
//!   before its next one.
//!
//! What failed has no edges with other operations on its object, wherever it stands. But it was one on this object,
//! not on one that was at the same address before or after: it follows the init, and the destroy follows it.
//!
//! Under the total order, a step follows the one before and nothing else, except what cannot be otherwise: that is
//! kept, so that the same reduction tells where nothing needs to be enforced.

use super::counts::{Once, Semaphore};
use super::locks::{Lock, Rwlock};
use super::waits::{Arrival, Barrier, Cond, Waits};
use super::{happened, is_step, EdgeKind, MainThread, Order};
use crate::hooks::{Effect, ObjectClass};
use crate::ids::ThreadId;
use crate::schedule::legal::errno;
use crate::schedule::{Event, Object, Schedule};
use std::collections::BTreeMap;

/// Takes the steps one after the other. A mark stands for a node for as long as it can be a source; what is known
/// of a node is dropped with its last mark.
pub(super) trait Sink {
    type Mark: Clone;

    /// The step with this index follows these (in any order, maybe several times the same). The order of `sources` is
    /// the sink's to change.
    fn step(&mut self, index: usize, thread: ThreadId, sources: &mut Vec<Source<Self::Mark>>) -> Self::Mark;

    /// A generation of this barrier, by index of the object, is complete. It follows its arrivals and the generation
    /// before.
    fn gather(
        &mut self,
        barrier: usize,
        before: Option<&Self::Mark>,
        arrivals: &[Arrival<Self::Mark>],
    ) -> Self::Mark;
}

/// What a step follows.
pub(super) struct Source<M> {
    pub mark: M,
    pub kind: EdgeKind,
}

/// What a step follows, of one object.
pub(super) struct Sources<'a, M>(&'a mut Vec<Source<M>>);

impl<M: Clone> Sources<'_, M> {
    /// The step follows these, because of the object.
    pub(super) fn object<'m>(&mut self, marks: impl IntoIterator<Item = &'m M>)
    where
        M: 'm,
    {
        self.add(marks, EdgeKind::Object);
    }

    /// The step leaves a barrier that has gathered.
    pub(super) fn gather(&mut self, mark: &M) {
        self.add([mark], EdgeKind::Gather);
    }

    fn add<'m>(&mut self, marks: impl IntoIterator<Item = &'m M>, kind: EdgeKind)
    where
        M: 'm,
    {
        self.0.extend(marks.into_iter().map(|mark| Source { mark: mark.clone(), kind }));
    }
}

/// What an object has seen.
enum State<M> {
    Lock(Lock<M>),
    Rwlock(Rwlock<M>),
    Cond(Cond<M>),
    Barrier(Barrier<M>),
    Semaphore(Semaphore<M>),
    Once(Once<M>),
}

impl<M> State<M> {
    fn new(object: &Object) -> State<M> {
        match object.class {
            ObjectClass::Rwlock => State::Rwlock(Rwlock::new()),
            ObjectClass::Cond => State::Cond(Cond::new()),
            ObjectClass::Barrier => State::Barrier(Barrier::new(object.shared)),
            ObjectClass::Semaphore => State::Semaphore(Semaphore::new(object.shared)),
            ObjectClass::Once => State::Once(Once::new()),
            _ => State::Lock(Lock::new()),
        }
    }
}

/// An object.
struct ObjectState<M> {
    state: State<M>,
    init: Option<M>,
    /// The last operation of each thread that failed.
    failed: BTreeMap<ThreadId, M>,
}

impl<M> ObjectState<M> {
    fn new(object: &Object) -> ObjectState<M> {
        ObjectState { state: State::new(object), init: None, failed: BTreeMap::new() }
    }
}

/// What a thread has done.
struct ThreadState<M> {
    /// Its last step, or its create.
    last: Option<M>,
    started: bool,
    /// Who has sent it something since its last step.
    notified: Vec<(ThreadId, M)>,
    /// How many ends of the process came before its last step.
    ends_seen: usize,
}

/// Goes through the schedule, which has passed verify.
pub(super) fn walk<S: Sink>(schedule: &Schedule, order: Order, sink: &mut S) {
    let mut walk = Walk::new(schedule);
    let mut sources: Vec<Source<S::Mark>> = Vec::new();
    let mut previous: Option<S::Mark> = None;
    for (index, event) in schedule.events.iter().enumerate().filter(|(_, event)| is_step(event)) {
        sources.clear();
        walk.sources(index, event, &mut sources, sink);
        if order == Order::Total {
            sources.retain(|source| source.kind.is_implied());
            sources.extend(previous.take().map(|mark| Source { mark, kind: EdgeKind::Total }));
        }
        let mark = sink.step(index, event.thread, &mut sources);
        walk.done(index, event, &mark, sink);
        if order == Order::Total {
            previous = Some(mark);
        }
    }
}

struct Walk<M> {
    waits: Waits,
    threads: Vec<ThreadState<M>>,
    objects: Vec<ObjectState<M>>,
    /// The last end of the process, by whom, and how many there were.
    process_end: Option<(ThreadId, M)>,
    process_ends: usize,
    main: MainThread,
}

impl<M: Clone> Walk<M> {
    fn new(schedule: &Schedule) -> Self {
        let thread = |_| ThreadState { last: None, started: false, notified: Vec::new(), ends_seen: 0 };
        Walk {
            waits: Waits::new(schedule),
            threads: schedule.threads.iter().map(thread).collect(),
            objects: schedule.objects.iter().map(ObjectState::new).collect(),
            process_end: None,
            process_ends: 0,
            main: MainThread::default(),
        }
    }

    /// What a step follows.
    fn sources<S: Sink<Mark = M>>(
        &mut self,
        index: usize,
        event: &Event,
        sources: &mut Vec<Source<M>>,
        sink: &mut S,
    ) {
        let mut sources = Sources(sources);
        let own = &mut self.threads[event.thread.0 as usize];
        sources.add(&own.last, if own.started { EdgeKind::Program } else { EdgeKind::Create });
        sources.add(own.notified.iter().map(|(_, mark)| mark), EdgeKind::Notify);
        own.notified.clear();
        if std::mem::replace(&mut own.ends_seen, self.process_ends) < self.process_ends {
            let other = self.process_end.iter().filter(|(thread, _)| *thread != event.thread);
            sources.add(other.map(|(_, mark)| mark), EdgeKind::ProcessEnd);
        }
        self.thread_sources(event, &mut sources);
        self.object_sources(index, event, &mut sources, sink);
    }

    fn thread_sources(&self, event: &Event, sources: &mut Sources<'_, M>) {
        let target = event.child.filter(|&child| child != event.thread);
        let target = target.map(|child| &self.threads[child.0 as usize]);
        match event.op.effect() {
            // One that did not return has not been able to wait for the thread's end.
            Effect::Join | Effect::TryJoin if event.result == Some(0) => {
                sources.add(target.into_iter().flat_map(|target| &target.last), EdgeKind::Join);
            }
            Effect::Notify if happened(event) => {
                sources.add(target.into_iter().flat_map(|target| &target.last), EdgeKind::Notify);
            }
            _ if self.main.ends_process(event) => {
                let others = self.threads.iter().enumerate();
                let others =
                    others.filter(|(number, other)| *number != event.thread.0 as usize && other.started);
                sources.add(others.flat_map(|(_, other)| &other.last), EdgeKind::ProcessEnd);
            }
            _ => {}
        }
    }

    fn object_sources<S: Sink<Mark = M>>(
        &mut self,
        index: usize,
        event: &Event,
        sources: &mut Sources<'_, M>,
        sink: &mut S,
    ) {
        let Some(object) = event.object.map(|id| id.0 as usize) else { return };
        let mutex = event.mutex.map(|id| id.0 as usize);
        if !takes_effect(event, &self.waits, index) {
            for object in [Some(object), mutex].into_iter().flatten() {
                sources.object(&self.objects[object].init);
            }
            return;
        }
        let ObjectState { state, failed, .. } = &mut self.objects[object];
        if matches!(event.op.effect(), Effect::Init | Effect::Destroy) {
            sources.object(failed.values());
        }
        match state {
            State::Lock(lock) => lock.sources(sources),
            State::Rwlock(rwlock) => rwlock.sources(event, sources),
            State::Semaphore(semaphore) => semaphore.sources(event, sources),
            State::Cond(cond) => cond.sources(index, event, &self.waits, sources),
            State::Barrier(barrier) => barrier.sources(object, event, sources, sink),
            State::Once(once) => once.sources(sources),
        }
        if let Some(State::Lock(lock)) = mutex.map(|mutex| &self.objects[mutex].state) {
            lock.sources(sources);
        }
    }

    /// A step has its mark.
    fn done<S: Sink<Mark = M>>(&mut self, index: usize, event: &Event, mark: &M, sink: &mut S) {
        let own = &mut self.threads[event.thread.0 as usize];
        own.last = Some(mark.clone());
        own.started = true;
        if self.main.ends_process(event) {
            self.process_ends += 1;
            self.process_end = Some((event.thread, mark.clone()));
            own.ends_seen = self.process_ends;
        }
        self.main.note(event);
        if let Some(child) = event.child.filter(|&child| child != event.thread && happened(event)) {
            let target = &mut self.threads[child.0 as usize];
            match event.op.effect() {
                Effect::Create => target.last = Some(mark.clone()),
                Effect::Notify => {
                    target.notified.retain(|(by, _)| *by != event.thread);
                    target.notified.push((event.thread, mark.clone()));
                }
                _ => {}
            }
        }
        self.object_done(index, event, mark, sink);
    }

    fn object_done<S: Sink<Mark = M>>(&mut self, index: usize, event: &Event, mark: &M, sink: &mut S) {
        let Some(object) = event.object.map(|id| id.0 as usize) else { return };
        let mutex = event.mutex.map(|id| id.0 as usize);
        if !takes_effect(event, &self.waits, index) {
            for object in [Some(object), mutex].into_iter().flatten() {
                self.objects[object].failed.insert(event.thread, mark.clone());
            }
            return;
        }
        let ObjectState { state, init, failed } = &mut self.objects[object];
        if event.op.effect() == Effect::Init {
            *init = Some(mark.clone());
            failed.clear();
        }
        match state {
            State::Lock(lock) => lock.done(mark),
            State::Rwlock(rwlock) => rwlock.done(event, mark),
            State::Semaphore(semaphore) => semaphore.done(event, mark),
            State::Cond(cond) => cond.done(index, event, &self.waits, mark),
            State::Barrier(barrier) => barrier.done(object, index, event, mark, sink),
            State::Once(once) => once.done(event, mark),
        }
        if let Some(State::Lock(lock)) = mutex.map(|mutex| &mut self.objects[mutex].state) {
            lock.done(mark);
        }
    }
}

/// Whether an event changes its object or depends on it. A condition wait that timed out or was cancelled does; one
/// that was refused does not. So do two failures that the runtime does not repeat by itself, but finds again: a
/// mutex that cannot be recovered must have become so, and what is busy when it is to be destroyed must be held.
fn takes_effect(event: &Event, waits: &Waits, index: usize) -> bool {
    match event.op.effect() {
        Effect::Wait | Effect::TimedWait => !waits.is_refused(index),
        // Its results tell the serial thread and those that ran the routine from the others.
        Effect::Arrive | Effect::RunOnce => true,
        Effect::Destroy if event.result == Some(errno::EBUSY) => true,
        _ => happened(event) || event.result == Some(errno::ENOTRECOVERABLE),
    }
}
