//! Whether a schedule's total order is an execution that the semantics of its objects allow: a replay.
//!
//! What each primitive demands stands in its file: [`locks`] (mutexes, spin locks, readers and writers),
//! [`waits`] (condition variables, barriers), [`counts`] (semaphores, once). Here: threads.
//! A join follows the joined thread's return; a thread is joined at most once, not by itself, and not after it
//! was detached.
//!
//! What is accepted without question (DETAILS 5b): a failed try, a timeout and other errors, wherever they
//! stand, except errors that say something about their own thread (EDEADLK: it holds the mutex; EPERM: it
//! does not); operations whose result is not known; objects shared with other processes, whose operations
//! are not in the schedule; the first operations on objects in a forked process, which may have been held
//! before; counts of barriers and semaphores whose init was not seen.
//!
//! The schedule must pass [`super::verify`] first.

mod counts;
mod locks;
mod waits;

pub(super) use waits::failed_waits;

use super::fault::Fault;
use super::{Event, Object, ObjectId, Phase, Schedule, ThreadId};
use crate::hooks::{Effect, ObjectClass, Op};
use std::collections::HashSet;

/// errno values, as Linux numbers them.
pub(super) mod errno {
    pub const EPERM: i32 = 1;
    pub const EBUSY: i32 = 16;
    pub const EDEADLK: i32 = 35;
    pub const ETIMEDOUT: i32 = 110;
    pub const EOWNERDEAD: i32 = 130;
    pub const ENOTRECOVERABLE: i32 = 131;
}

/// Replays the order; gives the first event that cannot be where it stands.
pub fn check(schedule: &Schedule) -> Result<(), Fault> {
    let mut replay = Replay::new(schedule);
    for (index, event) in schedule.events.iter().enumerate() {
        replay.event(index, event).map_err(|what| Fault::at(index, what))?;
    }
    Ok(())
}

/// Whether an operation did what it does: it succeeded, or the process ended inside of it.
fn happened(event: &Event) -> bool {
    matches!(event.result, None | Some(0))
}

/// The state of an object.
enum State {
    Lock(locks::Lock),
    Rwlock(locks::Rwlock),
    /// Waiting is per thread, so a condition variable itself has no state.
    Cond,
    Barrier(waits::Barrier),
    Semaphore(counts::Semaphore),
    Once(counts::Once),
    Destroyed,
}

#[derive(Clone, Default)]
struct ThreadState {
    entered: bool,
    left: bool,
    joined: bool,
    detached: bool,
    /// The condition waits it is in, by index of their begin.
    waiting: Vec<usize>,
}

struct Replay<'a> {
    schedule: &'a Schedule,
    states: Vec<State>,
    used: Vec<bool>,
    threads: Vec<ThreadState>,
    /// Begins of condition waits that failed at once (EPERM, EINVAL), so that they never released the mutex.
    failed_waits: HashSet<usize>,
}

impl<'a> Replay<'a> {
    fn new(schedule: &'a Schedule) -> Self {
        let known = !schedule.forked;
        let state = |object: &Object| match object.class {
            ObjectClass::Rwlock => State::Rwlock(locks::Rwlock::new(known)),
            ObjectClass::Cond => State::Cond,
            ObjectClass::Barrier => State::Barrier(waits::Barrier::default()),
            ObjectClass::Semaphore => State::Semaphore(counts::Semaphore::default()),
            ObjectClass::Once => State::Once(counts::Once::new(known)),
            _ => State::Lock(locks::Lock::new(object.mutex_kind, known)),
        };
        Replay {
            schedule,
            states: schedule.objects.iter().map(state).collect(),
            used: vec![false; schedule.objects.len()],
            threads: vec![ThreadState::default(); schedule.threads.len()],
            failed_waits: failed_waits(schedule),
        }
    }

    fn event(&mut self, index: usize, event: &Event) -> Result<(), String> {
        match event.op.class() {
            ObjectClass::Thread | ObjectClass::Flow => self.thread_event(event),
            _ => self.object_event(index, event),
        }
    }

    fn thread_event(&mut self, event: &Event) -> Result<(), String> {
        let own = &mut self.threads[event.thread.0 as usize];
        match event.op.effect() {
            Effect::Enter => own.entered = true,
            Effect::Leave => own.left = true,
            _ => {}
        }
        let Some(child) = event.child.filter(|_| happened(event)) else { return Ok(()) };
        // A thread function in code without hooks may return unseen.
        let returns_are_seen = self.schedule.threads[child.0 as usize].entry.is_some();
        let state = &mut self.threads[child.0 as usize];
        match event.op.effect() {
            Effect::Join | Effect::TryJoin => {
                if child == event.thread {
                    return Err(format!("{child} joins itself"));
                }
                if state.joined {
                    return Err(format!("{child} has been joined before"));
                }
                if state.detached {
                    return Err(format!("{child} is joined, but has been detached"));
                }
                if state.entered && !state.left && returns_are_seen {
                    return Err(format!("{child} is joined before it returns"));
                }
                state.joined = true;
            }
            Effect::Detach => state.detached = true,
            _ => {}
        }
        Ok(())
    }

    fn object_event(&mut self, index: usize, event: &Event) -> Result<(), String> {
        let Some(id) = event.object else { return Ok(()) };
        let object = &self.schedule.objects[id.0 as usize];
        if matches!(event.op.effect(), Effect::Wait | Effect::TimedWait) {
            return self.wait(index, event, id);
        }
        if object.shared {
            return Ok(());
        }
        let fresh = !std::mem::replace(&mut self.used[id.0 as usize], true);
        let state = &mut self.states[id.0 as usize];
        let (thread, effect) = (event.thread, event.op.effect());
        if effect == Effect::Init && happened(event) && !fresh && event.op != Op::sem_open {
            return Err(format!("{object} is initialized, but has been used before"));
        }
        match state {
            State::Destroyed if event.phase == Phase::End => Ok(()),
            State::Destroyed if !happened(event) => Ok(()),
            State::Destroyed => Err(format!("{object} has been destroyed")),
            State::Lock(lock) => lock.event(thread, event),
            State::Rwlock(rwlock) => rwlock.event(thread, event),
            State::Barrier(barrier) => barrier.event(thread, event),
            State::Semaphore(semaphore) => semaphore.event(event),
            State::Once(once) => once.event(thread, event),
            State::Cond => Ok(()),
        }
        .map_err(|what| format!("{} {object}: {what}", event.op.name()))?;
        // A named semaphore may be open more than once; only its last close ends it, which others may do.
        if effect == Effect::Destroy && happened(event) && event.op != Op::sem_close {
            self.states[id.0 as usize] = State::Destroyed;
        }
        Ok(())
    }

    /// A condition wait: an unlock, a wake-up and a lock.
    fn wait(&mut self, index: usize, event: &Event, cond: ObjectId) -> Result<(), String> {
        let condition = &self.schedule.objects[cond.0 as usize];
        self.used[cond.0 as usize] = true;
        let waiting = &mut self.threads[event.thread.0 as usize].waiting;
        let begin = match event.phase {
            Phase::Begin => {
                waiting.push(index);
                if matches!(self.states[cond.0 as usize], State::Destroyed) && !condition.shared {
                    return Err(format!("{condition} has been destroyed"));
                }
                index
            }
            _ => waiting.pop().ok_or_else(|| "a wait ends that has not begun".to_owned())?,
        };
        if self.failed_waits.contains(&begin) {
            return Ok(());
        }
        if let Some(waker) = event.waker.filter(|_| !condition.shared) {
            if self.schedule.index_of(waker).is_some_and(|waker| waker < begin) {
                return Err(format!(
                    "the signal of event {waker} cannot end a wait on {condition} that began after it, at event {}",
                    begin + 1
                ));
            }
        }
        let Some(id) = event.mutex else { return Ok(()) };
        let mutex = &self.schedule.objects[id.0 as usize];
        self.used[id.0 as usize] = true;
        match &mut self.states[id.0 as usize] {
            _ if mutex.shared => Ok(()),
            State::Lock(lock) if event.phase == Phase::Begin => lock.release(event.thread),
            // The mutex cannot be had again: its owner died with it.
            State::Lock(_) if event.result == Some(errno::ENOTRECOVERABLE) => Ok(()),
            State::Lock(lock) => lock.acquire(event.thread, event.result == Some(errno::EOWNERDEAD)),
            _ => Err("has been destroyed".to_owned()),
        }
        .map_err(|what| format!("{} {condition}: {mutex} {what}", event.op.name()))
    }
}

/// `t1, t2`: the holders of a lock, for messages.
fn list(threads: impl Iterator<Item = ThreadId>) -> String {
    let mut names: Vec<ThreadId> = threads.collect();
    names.sort();
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
