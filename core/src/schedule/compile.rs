//! Compiles a schedule into the plan that the runtime follows; [`crate::plan`] says what the parts mean.
//!
//! Links are the edges of the reduced order that are not implied. An edge from a barrier's gather, which is no step,
//! becomes a link from each of its arrivals; those may hold one that follows from another in the rare case that a
//! thread that had arrived was sent a signal meanwhile. Nothing else in a plan follows from the rest.
//!
//! Limit: 2^32 links.

use super::order::{self, Node, Order, Waits};
use super::{Completeness, Event, Object, ObjectId, Phase, Schedule};
use crate::hooks::{Effect, Op};
use crate::plan::{
    status_size, Link, PlanHeader, PlanObject, PlanThread, Status, Step, MANY, NONE, OBJECT_FIXED,
    OBJECT_SHARED, OBJECT_STATIC, ORDER_HB, ORDER_TOTAL, PLAN_COMPLETE, PLAN_MAGIC, STATUS_MAGIC,
    STEP_REFUSED, STEP_UNWOUND, THREAD_CANCELLED, THREAD_ENDS, THREAD_FOREIGN, THREAD_SIGNALLED, VERSION,
};
use crate::rawlog::{Plain, RESULT_PENDING};
use std::collections::HashMap;
use std::mem::{offset_of, size_of};

/// The bytes of a status file for so many threads, as the runtime expects it before the run.
pub fn empty_status(threads: usize) -> Vec<u8> {
    let mut bytes = vec![0; status_size(threads)];
    let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
    put(offset_of!(Status, magic), &STATUS_MAGIC);
    put(offset_of!(Status, version), &VERSION.to_ne_bytes());
    bytes
}

/// Where the executable has its variables, by its own account.
pub trait Places {
    /// Its site tables.
    fn site_tables(&self) -> u64;
    /// What a schedule calls by this name, if the name says which variable that is.
    fn address(&self, symbol: &str) -> Option<u64>;
}

/// Knows no places.
pub struct NoPlaces;

impl Places for NoPlaces {
    fn site_tables(&self) -> u64 {
        0
    }

    fn address(&self, _: &str) -> Option<u64> {
        None
    }
}

/// The bytes of the plan file; the schedule has passed verify.
pub fn compile(schedule: &Schedule, order: Order, places: &dyn Places) -> Vec<u8> {
    let steps = order::steps(schedule);
    let links = Links::new(schedule, order, &steps);
    let waits = Waits::new(schedule);
    let wakers = waits.waker_numbers();

    let (mut step_bytes, mut link_bytes) = (Vec::new(), Vec::new());
    for &index in steps.iter().flatten() {
        let mut step = step_of(&schedule.events[index], index, &waits, &wakers);
        links.lay_out(index, &mut step, &mut link_bytes);
        step_bytes.extend_from_slice(step.as_bytes());
    }
    let thread_bytes = bytes_of(&threads_of(schedule, &steps));
    let object_bytes = bytes_of(&objects_of(schedule, places));

    let threads_at = size_of::<PlanHeader>() as u64;
    let objects_at = threads_at + thread_bytes.len() as u64;
    let steps_at = objects_at + object_bytes.len() as u64;
    let links_at = steps_at + step_bytes.len() as u64;
    let header = PlanHeader {
        magic: PLAN_MAGIC,
        version: VERSION,
        order: match order {
            Order::Hb => ORDER_HB,
            Order::Total => ORDER_TOTAL,
        },
        program: schedule.program_id.0,
        threads: schedule.threads.len() as u32,
        objects: schedule.objects.len() as u32,
        wakers: wakers.len() as u32,
        flags: if schedule.completeness == Completeness::Complete { PLAN_COMPLETE } else { 0 },
        steps: (step_bytes.len() / size_of::<Step>()) as u64,
        links: (link_bytes.len() / size_of::<Link>()) as u64,
        threads_at,
        objects_at,
        steps_at,
        links_at,
        site_tables: places.site_tables(),
    };
    let mut bytes = Vec::with_capacity(links_at as usize + link_bytes.len());
    for part in [header.as_bytes(), &thread_bytes, &object_bytes, &step_bytes, &link_bytes] {
        bytes.extend_from_slice(part);
    }
    bytes
}

fn bytes_of<T: Plain>(records: &[T]) -> Vec<u8> {
    records.iter().flat_map(|record| record.as_bytes()).copied().collect()
}

fn threads_of(schedule: &Schedule, steps: &[Vec<usize>]) -> Vec<PlanThread> {
    let mut first_step = 0;
    let mut threads = Vec::with_capacity(steps.len());
    for (number, (thread, steps)) in schedule.threads.iter().zip(steps).enumerate() {
        let foreign = thread.parent.is_none() && number != 0;
        let flags = if foreign { THREAD_FOREIGN } else { 0 };
        threads.push(PlanThread { first_step, steps: steps.len() as u32, flags });
        first_step += steps.len() as u64;
    }
    for event in &schedule.events {
        match event.op.effect() {
            // After exit there is nothing more to come either than what is in the schedule.
            Effect::Leave | Effect::EndProcess => threads[event.thread.0 as usize].flags |= THREAD_ENDS,
            Effect::Notify if event.result == Some(0) => {
                if let Some(child) = event.child {
                    let is_cancel = event.op == Op::pthread_cancel;
                    let flag = if is_cancel { THREAD_CANCELLED } else { THREAD_SIGNALLED };
                    threads[child.0 as usize].flags |= flag;
                }
            }
            _ => {}
        }
    }
    threads
}

fn objects_of(schedule: &Schedule, places: &dyn Places) -> Vec<PlanObject> {
    let fixed = fixed_objects(schedule);
    let plan_object = |(object, fixed): (&Object, bool)| {
        let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
        let flags = bit(fixed, OBJECT_FIXED)
            | bit(object.shared, OBJECT_SHARED)
            | bit(object.symbol.is_some(), OBJECT_STATIC);
        let address = object.symbol.as_deref().and_then(|symbol| places.address(symbol));
        PlanObject { flags, reserved: 0, address: address.unwrap_or(0) }
    };
    schedule.objects.iter().zip(fixed).map(plan_object).collect()
}

/// By object: whether an address is its own, see [`OBJECT_FIXED`].
pub(super) fn fixed_objects(schedule: &Schedule) -> Vec<bool> {
    let mut fixed: Vec<bool> = schedule.objects.iter().map(|object| object.symbol.is_some()).collect();
    for event in &schedule.events {
        if event.op.effect() == Effect::Init && matches!(event.result, None | Some(0)) {
            if let Some(object) = event.object {
                fixed[object.0 as usize] = true;
            }
        }
    }
    fixed
}

/// A step without its links.
fn step_of(event: &Event, index: usize, waits: &Waits, wakers: &HashMap<usize, u32>) -> Step {
    let object = |id: Option<ObjectId>| id.map_or(NONE, |id| id.0);
    let waker = |index: Option<usize>| index.and_then(|index| wakers.get(&index)).copied().unwrap_or(NONE);
    let aux = match (event.op.effect(), event.phase) {
        (Effect::Wait | Effect::TimedWait, Phase::Begin) => object(event.mutex),
        (Effect::Wait | Effect::TimedWait, _) => waker(event.waker.map(|waker| waker.0 as usize - 1)),
        (Effect::Signal | Effect::Broadcast, _) => waker(Some(index)),
        _ => event.child.map_or(NONE, |child| child.0),
    };
    let unwound = if event.unwound { STEP_UNWOUND } else { 0 };
    let refused = if waits.is_refused(index) { STEP_REFUSED } else { 0 };
    Step {
        site: event.site.0,
        object: object(event.object),
        aux,
        links: 0,
        after: 0,
        before: 0,
        result: event.result.unwrap_or(RESULT_PENDING),
        op: event.op as u8,
        phase: event.phase as u8,
        flags: unwound | refused,
        reserved: 0,
    }
}

/// The links of all steps, from both ends; by index of events.
struct Links {
    /// Where each event stands: its thread, and its index among the thread's steps.
    places: Vec<Link>,
    after: Adjacency,
    before: Adjacency,
}

/// A list for each event.
struct Adjacency {
    starts: Vec<usize>,
    ends: Vec<u32>,
}

impl Adjacency {
    /// Of pairs (event, other); each event's others stay in the order of the pairs.
    fn new(events: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Adjacency {
        let mut starts = vec![0; events + 1];
        for (event, _) in pairs.clone() {
            starts[event as usize + 1] += 1;
        }
        for event in 0..events {
            starts[event + 1] += starts[event];
        }
        let mut ends = vec![0; starts[events]];
        let mut next = starts.clone();
        for (event, other) in pairs {
            ends[next[event as usize]] = other;
            next[event as usize] += 1;
        }
        Adjacency { starts, ends }
    }

    fn of(&self, event: usize) -> &[u32] {
        &self.ends[self.starts[event]..self.starts[event + 1]]
    }
}

impl Links {
    fn new(schedule: &Schedule, order: Order, steps: &[Vec<usize>]) -> Links {
        let mut places = vec![Link { thread: NONE, position: NONE }; schedule.events.len()];
        for (thread, steps) in steps.iter().enumerate() {
            for (position, &index) in steps.iter().enumerate() {
                places[index] = Link { thread: thread as u32, position: position as u32 };
            }
        }
        let graph = order::reduced(schedule, order);
        // (to, from), by `to`; sources of one step from the latest to the earliest.
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for edge in graph.edges.iter().filter(|edge| !edge.kind.is_implied()) {
            let Node::Step(to) = edge.to else { continue };
            match edge.from {
                Node::Step(from) => pairs.push((to as u32, from as u32)),
                Node::Gather(number) => {
                    let arrivals = graph.gathers[number].iter();
                    let others =
                        arrivals.filter(|&&from| schedule.events[from].thread != schedule.events[to].thread);
                    pairs.extend(others.map(|&from| (to as u32, from as u32)));
                }
            }
        }
        pairs.sort_unstable_by_key(|&(to, from)| (to, std::cmp::Reverse(from)));
        let events = schedule.events.len();
        let after = Adjacency::new(events, pairs.iter().copied());
        let before = Adjacency::new(events, pairs.iter().map(|&(to, from)| (from, to)));
        Links { places, after, before }
    }

    /// Appends an event's links and notes them in its step.
    fn lay_out(&self, index: usize, step: &mut Step, bytes: &mut Vec<u8>) {
        let (after, before) = (self.after.of(index), self.before.of(index));
        step.links = (bytes.len() / size_of::<Link>()) as u32;
        match (u16::try_from(after.len()), u16::try_from(before.len())) {
            (Ok(after), Ok(before)) if after != MANY => (step.after, step.before) = (after, before),
            _ => {
                step.after = MANY;
                let numbers = Link { thread: after.len() as u32, position: before.len() as u32 };
                bytes.extend_from_slice(numbers.as_bytes());
            }
        }
        for &from in after {
            let place = self.places[from as usize];
            bytes.extend_from_slice(Link { position: place.position + 1, ..place }.as_bytes());
        }
        for &to in before {
            bytes.extend_from_slice(self.places[to as usize].as_bytes());
        }
    }
}

#[cfg(test)]
mod tests;
