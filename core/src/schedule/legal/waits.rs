//! Condition variables and barriers.
//!
//! - A wait begins by releasing its mutex and ends by acquiring it; both are checked with the mutex's rules.
//! - A wait that a signal or broadcast ended began before it; a signal ends at most one (checked by verify).
//!   A wait that nothing ended is a spurious wake-up or a timeout, which may be anywhere.
//! - A thread leaves a barrier when as many threads as its count have arrived in its generation; exactly
//!   one thread of a generation is the serial one. A barrier is not destroyed while a generation fills.

use super::{errno, happened};
use crate::hooks::Effect;
use crate::ids::ThreadId;
use crate::schedule::{Event, Phase, Schedule};
use std::collections::{HashMap, HashSet};

/// Begins of condition waits whose end says that they failed at once.
pub(in crate::schedule) fn failed_waits(schedule: &Schedule) -> HashSet<usize> {
    let mut open: HashMap<ThreadId, Vec<usize>> = HashMap::new();
    let mut failed = HashSet::new();
    for (index, event) in schedule.events.iter().enumerate() {
        match (event.op.effect(), event.phase) {
            (Effect::Wait | Effect::TimedWait, Phase::Begin) => {
                open.entry(event.thread).or_default().push(index)
            }
            (Effect::Wait | Effect::TimedWait, _) => {
                let begin = open.get_mut(&event.thread).and_then(Vec::pop);
                let waited = match event.result {
                    None | Some(0 | errno::ETIMEDOUT | errno::EOWNERDEAD | errno::ENOTRECOVERABLE) => true,
                    Some(_) => event.unwound,
                };
                failed.extend(begin.filter(|_| !waited));
            }
            _ => {}
        }
    }
    failed
}

/// The result of the one thread of a generation that is told so.
const SERIAL: i32 = -1;

/// A barrier.
#[derive(Default)]
pub(super) struct Barrier {
    /// `None` if its init was not seen: nothing can be checked then.
    count: Option<u32>,
    arrived: u32,
    generation: u64,
    /// Which generation a thread that is inside arrived in.
    inside: HashMap<ThreadId, u64>,
    /// Generations that are full and that not all have left.
    leaving: HashMap<u64, Leaving>,
}

#[derive(Default)]
struct Leaving {
    left: u32,
    serial: Option<ThreadId>,
    /// Somebody's result is not known, so it may have been the serial one.
    unknown: bool,
}

impl Barrier {
    pub(super) fn event(&mut self, thread: ThreadId, event: &Event) -> Result<(), String> {
        match (event.op.effect(), event.phase) {
            (Effect::Init, _) if happened(event) => self.count = event.count,
            (Effect::Destroy, _) if happened(event) && self.arrived > 0 && self.count.is_some() => {
                return Err(format!("is destroyed while {} threads wait", self.arrived));
            }
            (Effect::Arrive, Phase::Begin) => {
                self.inside.insert(thread, self.generation);
                self.arrived += 1;
                if Some(self.arrived) == self.count {
                    self.leaving.insert(self.generation, Leaving::default());
                    self.generation += 1;
                    self.arrived = 0;
                }
            }
            (Effect::Arrive, _) => return self.leave(thread, event.result),
            _ => {}
        }
        Ok(())
    }

    fn leave(&mut self, thread: ThreadId, result: Option<i32>) -> Result<(), String> {
        let generation = self.inside.remove(&thread);
        let (Some(count), Some(generation)) = (self.count, generation) else { return Ok(()) };
        let Some(leaving) = self.leaving.get_mut(&generation) else {
            return Err(format!("{thread} leaves after {} of {count} threads have arrived", self.arrived));
        };
        match (result, leaving.serial) {
            (Some(SERIAL), Some(other)) => {
                return Err(format!("{thread} is the serial thread, but {other} was it in this generation"));
            }
            (Some(SERIAL), None) => leaving.serial = Some(thread),
            (Some(0), _) => {}
            _ => leaving.unknown = true,
        }
        leaving.left += 1;
        if leaving.left == count {
            if leaving.serial.is_none() && !leaving.unknown {
                return Err(format!("all {count} threads have left, but none was the serial one (-1)"));
            }
            self.leaving.remove(&generation);
        }
        Ok(())
    }
}
