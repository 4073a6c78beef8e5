//! Replays a recording against the semantics of its objects. A failed try, a timeout or a pending result is
//! accepted anywhere; so is what concerns objects shared with other processes.

use super::{Event, Recording};
use covsched_core::hooks::{Effect, ObjectClass};
use covsched_core::rawlog::{Phase, FLAG_RECURSIVE, FLAG_SHARED, RESULT_PENDING};
use std::collections::{HashMap, HashSet, VecDeque};

#[derive(Default)]
struct State {
    /// Mutexes and spin locks: owner and depth.
    held: HashMap<u64, (u32, u32)>,
    /// Rwlocks: writer, readers.
    rwlocks: HashMap<u64, (Option<u32>, HashMap<u32, u32>)>,
    sems: HashMap<u64, i64>,
    /// Waits that have begun: cond and mutex, by thread.
    waits: HashMap<u32, (u64, u64)>,
    refused: HashSet<u32>,
    /// Waiters of each cond in order, and what was taken by a signal: signal clock -> waiters.
    queues: HashMap<u64, VecDeque<u32>>,
    woken: HashMap<u32, u64>,
    /// Barriers: count, arrived in this generation; who may leave.
    barriers: HashMap<u64, (u64, Vec<u32>)>,
    may_leave: HashMap<u32, bool>,
    running_once: HashMap<u64, u32>,
    done_once: HashSet<u64>,
    created: HashSet<u64>,
    ended: HashSet<u32>,
}

/// Panics with the event that is not legal.
pub fn check(recording: &Recording) {
    let mut state = State::default();
    for (at, event) in recording.events.iter().enumerate() {
        if let Err(what) = state.step(event) {
            let from = at.saturating_sub(12);
            panic!("event {at} is not legal: {what}: {event:?}\nbefore: {:#?}", &recording.events[from..at]);
        }
    }
    let mut last = HashMap::new();
    for event in &recording.events {
        let clock = last.entry(event.thread).or_insert(0);
        assert!(event.record.clock >= *clock);
        *clock = event.record.clock;
    }
}

fn require(condition: bool, what: &str) -> Result<(), String> {
    if condition {
        Ok(())
    } else {
        Err(what.to_owned())
    }
}

impl State {
    fn step(&mut self, event: &Event) -> Result<(), String> {
        let (thread, record) = (event.thread, &event.record);
        if record.flags & FLAG_SHARED != 0 {
            return Ok(());
        }
        let succeeded = record.result == 0 || record.result == RESULT_PENDING;
        match (event.op.class(), event.op.effect(), event.phase) {
            (ObjectClass::Mutex | ObjectClass::Spin, Effect::Init | Effect::Destroy, _) if succeeded => {
                require(self.held.remove(&record.object).is_none(), "held")
            }
            (
                ObjectClass::Mutex | ObjectClass::Spin,
                Effect::Acquire | Effect::TryAcquire | Effect::TimedAcquire,
                _,
            ) if record.result == 0 => self.lock(thread, record.object, record.flags & FLAG_RECURSIVE != 0),
            (ObjectClass::Mutex | ObjectClass::Spin, Effect::Release, _) if succeeded => {
                self.unlock(thread, record.object)
            }
            (ObjectClass::Rwlock, effect, _) if succeeded => self.rwlock(thread, record.object, effect),
            (ObjectClass::Semaphore, effect, _) if succeeded => {
                let value = self.sems.entry(record.object).or_default();
                match effect {
                    Effect::Init => *value = record.extra as i64,
                    Effect::Release => *value += 1,
                    Effect::Acquire | Effect::TryAcquire | Effect::TimedAcquire => {
                        *value -= 1;
                        return require(*value >= 0, "no unit to take");
                    }
                    _ => (),
                }
                Ok(())
            }
            (ObjectClass::Cond, Effect::Wait | Effect::TimedWait, Phase::Begin) => {
                if record.result != 0 {
                    // Refused: neither begun nor, at its end, done.
                    self.refused.insert(thread);
                    return Ok(());
                }
                self.waits.insert(thread, (record.object, record.extra));
                self.queues.entry(record.object).or_default().push_back(thread);
                self.unlock(thread, record.extra)
            }
            (ObjectClass::Cond, Effect::Wait | Effect::TimedWait, Phase::End) => self.end_wait(event),
            (ObjectClass::Cond, Effect::Signal | Effect::Broadcast, _) => {
                // Who was woken is checked at the end of the wait: its waker must be this event, and fit.
                self.note_signal(event);
                Ok(())
            }
            (ObjectClass::Barrier, Effect::Init, _) => {
                self.barriers.insert(record.object, (record.extra, Vec::new()));
                Ok(())
            }
            (ObjectClass::Barrier, Effect::Arrive, Phase::Begin) => {
                let (count, arrived) = self.barriers.get_mut(&record.object).ok_or("no init")?;
                arrived.push(thread);
                if arrived.len() as u64 == *count {
                    let last = arrived.len() - 1;
                    for (index, arrived) in arrived.drain(..).enumerate() {
                        self.may_leave.insert(arrived, index == last);
                    }
                }
                Ok(())
            }
            (ObjectClass::Barrier, Effect::Arrive, _) => {
                let serial = self.may_leave.remove(&thread).ok_or("left before the others arrived")?;
                require(serial == (record.result == -1), "serial thread is not the last to arrive")
            }
            (ObjectClass::Once, _, Phase::Begin) => {
                require(!self.done_once.contains(&record.object), "ran again")?;
                require(self.running_once.insert(record.object, thread).is_none(), "runs twice")
            }
            (ObjectClass::Once, _, Phase::End) => {
                require(self.running_once.remove(&record.object) == Some(thread), "ends but does not run")?;
                if record.flags & covsched_core::rawlog::FLAG_UNWOUND == 0 {
                    self.done_once.insert(record.object);
                }
                Ok(())
            }
            (ObjectClass::Once, _, Phase::Both) => {
                require(self.done_once.contains(&record.object), "returned before the routine ended")
            }
            (ObjectClass::Thread, Effect::Create, _) => {
                self.created.insert(record.extra);
                Ok(())
            }
            (ObjectClass::Thread, Effect::Join | Effect::TryJoin, _) if record.result == 0 => {
                require(self.ended.contains(&(record.extra as u32)), "joined before its end")
            }
            (_, Effect::Enter, _) => {
                // Main, and threads that other code made, have no creation.
                require(!self.ended.contains(&thread), "enters after its end")
            }
            (_, Effect::Leave | Effect::EndProcess, _) => require(self.ended.insert(thread), "ends twice"),
            _ => Ok(()),
        }
    }

    fn lock(&mut self, thread: u32, object: u64, recursive: bool) -> Result<(), String> {
        let (owner, depth) = self.held.entry(object).or_insert((thread, 0));
        require(*depth == 0 || (recursive && *owner == thread), "held by another")?;
        (*owner, *depth) = (thread, *depth + 1);
        Ok(())
    }

    fn unlock(&mut self, thread: u32, object: u64) -> Result<(), String> {
        let (owner, depth) = self.held.get_mut(&object).ok_or("not held")?;
        require(*owner == thread && *depth > 0, "not held by this thread")?;
        *depth -= 1;
        if *depth == 0 {
            self.held.remove(&object);
        }
        Ok(())
    }

    fn rwlock(&mut self, thread: u32, object: u64, effect: Effect) -> Result<(), String> {
        let (writer, readers) = self.rwlocks.entry(object).or_default();
        match effect {
            Effect::Acquire | Effect::TryAcquire | Effect::TimedAcquire => {
                require(writer.is_none() && readers.is_empty(), "held")?;
                *writer = Some(thread);
            }
            Effect::AcquireShared | Effect::TryAcquireShared | Effect::TimedAcquireShared => {
                require(writer.is_none(), "held by a writer")?;
                *readers.entry(thread).or_default() += 1;
            }
            Effect::Release if *writer == Some(thread) => *writer = None,
            Effect::Release => {
                let count = readers.get_mut(&thread).ok_or("not held")?;
                *count -= 1;
                if *count == 0 {
                    readers.remove(&thread);
                }
            }
            _ => (),
        }
        Ok(())
    }

    fn note_signal(&mut self, event: &Event) {
        // A signal may pass over waiters that are timing out, so all that wait now are candidates.
        if let Some(queue) = self.queues.get(&event.record.object) {
            for &thread in queue {
                self.woken.entry(thread).or_insert(event.record.clock);
            }
        }
    }

    fn end_wait(&mut self, event: &Event) -> Result<(), String> {
        let (thread, record) = (event.thread, &event.record);
        if self.refused.remove(&thread) {
            return Ok(());
        }
        let (cond, mutex) = self.waits.remove(&thread).ok_or("ends but did not begin")?;
        require(cond == record.object, "ends on another condition variable")?;
        let queue = self.queues.entry(cond).or_default();
        queue.retain(|&waiter| waiter != thread);
        let first_candidate = self.woken.remove(&thread);
        if record.extra != 0 {
            let first = first_candidate.ok_or("woken, but nobody signalled since it began")?;
            require(record.extra >= first, "woken by a signal from before it began")?;
        } else if record.result == 0 && record.flags == 0 {
            return Err("woken by nobody".to_owned());
        }
        self.lock(thread, mutex, true)
    }
}

/// Each wait that a signal ended, with the line of the signal; and no signal ended two waits.
pub fn wakers(recording: &Recording) -> Vec<(Event, Event)> {
    let mut pairs = Vec::new();
    let mut used = HashSet::new();
    for end in recording.events.iter().filter(|event| event.phase == Phase::End && event.record.extra != 0) {
        let waker = recording
            .events
            .iter()
            .find(|event| {
                event.record.clock == end.record.extra
                    && event.record.object == end.record.object
                    && matches!(event.op.effect(), Effect::Signal | Effect::Broadcast)
            })
            .unwrap_or_else(|| panic!("no signal with the clock that {end:?} names"));
        if waker.op.effect() == Effect::Signal {
            assert!(used.insert((waker.thread, waker.record.clock)), "one signal, two waiters: {waker:?}");
        }
        pairs.push((*end, *waker));
    }
    pairs
}
