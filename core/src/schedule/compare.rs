//! Whether a schedule that was recorded while another one was enforced is the same.
//!
//! - Threads are matched by their place in the creation tree. Those made by code without hooks are matched by their
//!   first step and the name of its object, as the runtime does, and then by their order.
//! - Each thread has the same events, derived ones included: operation, moment, site, target, result, count, unwound,
//!   and a wait's waker is the same step.
//! - Objects with a name or an init correspond one to one. Of others (a `std::mutex` on the heap, whose memory may be
//!   several objects, one after the other) nothing is asked: their operations are in order, as below.
//! - Under hb, each edge of the expected schedule holds in the total order of the actual one, so that each
//!   difference in the order of a synchronization is seen. Under the total order, the steps are in the same order.
//!
//! What no schedule can decide is left out: what other threads do between the end of the process (exit, main's
//! return) and its death may be missing at their ends on either side, so may the return of a thread that nobody
//! joined, and the result of a thread's last call if the process ended inside of it.
//!
//! Limits:
//! - Where the process was killed instead, the threads' ends are compared as they are.
//! - Only the expected schedule's edges are looked for; that the actual order has no others is not. Mostly it cannot:
//!   the operations of a lock are in a chain, and a wait names its waker. But the posts of a semaphore are not ordered
//!   among each other, so in the actual order another post may stand where a wait takes its unit from. Compiled,
//!   the two schedules then have different links, though each thread did the same.

use super::compile::fixed_objects;
use super::describe::{describe, describe_object};
use super::order::{self, is_step, Edge, Node, Order};
use super::{Event, ObjectId, Phase, Schedule, ThreadId};
use crate::hooks::{Effect, Op};
use crate::ids::SiteId;
use std::collections::{HashMap, VecDeque};
use std::fmt;

/// The first difference, in the order of the expected schedule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Difference {
    /// Whose; a thread of the expected schedule, or of the actual one if the expected has no such thread.
    pub thread: ThreadId,
    /// How many steps it had done.
    pub position: usize,
    /// In words.
    pub expected: String,
    /// In words.
    pub actual: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { thread, position, expected, actual } = self;
        write!(f, "{thread} after {position} steps: expected {expected}, found {actual}")
    }
}

/// Whether `actual` is the same schedule as `expected` under an order; else the first difference. Both have passed
/// verify.
pub fn compare(expected: &Schedule, actual: &Schedule, order: Order) -> Result<(), Difference> {
    compare_sides(Side::new(expected, false), Side::new(actual, false), order)
}

/// The same, whatever the calls were: where synchronizations are left out, the calls that led to them are, too.
pub fn compare_steps(expected: &Schedule, actual: &Schedule, order: Order) -> Result<(), Difference> {
    compare_sides(Side::new(expected, true), Side::new(actual, true), order)
}

fn compare_sides(expected: Side<'_>, actual: Side<'_>, order: Order) -> Result<(), Difference> {
    let comparison = Comparison::new(&expected, &actual);
    comparison.threads()?;
    comparison.objects()?;
    match order {
        Order::Hb => comparison.happens_before(),
        Order::Total => comparison.total_order(),
    }
}

/// The first step of a thread, and the name of its object.
type FirstStep<'a> = (Option<(Op, Phase, SiteId)>, Option<&'a str>);

/// A schedule, with what is asked of it again and again.
struct Side<'a> {
    schedule: &'a Schedule,
    /// By thread: its events.
    events: Vec<Vec<usize>>,
    /// By event: its place among its thread's.
    places: Vec<usize>,
    /// By thread: whether somebody joined it.
    joined: Vec<bool>,
    /// The event that ended the process.
    end: Option<usize>,
}

impl<'a> Side<'a> {
    fn new(schedule: &'a Schedule, only_steps: bool) -> Self {
        let mut events = vec![Vec::new(); schedule.threads.len()];
        let mut joined = vec![false; schedule.threads.len()];
        let mut places = Vec::with_capacity(schedule.events.len());
        for (index, event) in schedule.events.iter().enumerate() {
            let own: &mut Vec<usize> = &mut events[event.thread.0 as usize];
            places.push(own.len());
            if is_step(event) || !only_steps {
                own.push(index);
            }
            if matches!(event.op.effect(), Effect::Join | Effect::TryJoin) && event.result == Some(0) {
                event.child.into_iter().for_each(|child| joined[child.0 as usize] = true);
            }
        }
        Side { schedule, events, places, joined, end: order::process_end(schedule) }
    }

    fn event(&self, index: usize) -> &'a Event {
        &self.schedule.events[index]
    }

    fn events_of(&self, thread: Option<ThreadId>) -> &[usize] {
        thread.map_or(&[], |thread| &self.events[thread.0 as usize])
    }

    /// How many steps a thread did in its first `events` events.
    fn steps_done(&self, thread: ThreadId, events: usize) -> usize {
        let own = &self.events[thread.0 as usize];
        own[..events.min(own.len())].iter().filter(|&&index| is_step(self.event(index))).count()
    }

    /// Whether the other side may lack these last events of a thread.
    fn may_lack(&self, thread: ThreadId, tail: &[usize]) -> bool {
        let after_end =
            |&first: &usize| self.end.is_some_and(|end| end < first && self.event(end).thread != thread);
        tail.first().is_none_or(after_end) || (!self.joined[thread.0 as usize] && self.only_returns(tail))
    }

    fn only_returns(&self, tail: &[usize]) -> bool {
        match tail.split_last() {
            Some((&last, calls)) => {
                self.event(last).op == Op::leave
                    && calls.iter().all(|&call| self.event(call).op == Op::derived)
            }
            None => true,
        }
    }

    /// Threads made by code without hooks.
    fn foreign(&self) -> Vec<ThreadId> {
        let threads = (0..self.schedule.threads.len()).map(|number| ThreadId(number as u32));
        threads.filter(|&thread| self.is_foreign(thread)).collect()
    }

    fn is_foreign(&self, thread: ThreadId) -> bool {
        thread != ThreadId::MAIN && self.schedule.threads[thread.0 as usize].parent.is_none()
    }

    /// What a thread does first. An entry without a site is no sign of anything: nothing sees it happen.
    fn first_step(&self, thread: ThreadId) -> FirstStep<'a> {
        let mut events = self.events_of(Some(thread)).iter().map(|&index| self.event(index));
        let first = events.find(|event| is_step(event) && (event.op != Op::entry || !event.site.is_none()));
        let Some(event) = first else { return (None, None) };
        let object = event.object.map(|object| &self.schedule.objects[object.0 as usize]);
        let symbol = object.and_then(|object| object.symbol.as_deref());
        (Some((event.op, event.phase, event.site)), symbol)
    }

    fn is_last_of_thread(&self, index: usize) -> bool {
        self.events[self.event(index).thread.0 as usize].last() == Some(&index)
    }

    /// A thread's place in the creation tree.
    fn origin(&self, thread: Option<ThreadId>) -> String {
        let Some(thread) = thread else { return "none".to_owned() };
        let described = &self.schedule.threads[thread.0 as usize];
        match described.parent {
            Some(parent) => format!("{parent}/{}", described.nth),
            None if thread == ThreadId::MAIN => "main".to_owned(),
            None => "foreign".to_owned(),
        }
    }

    fn words(&self, index: usize) -> String {
        describe(self.schedule, self.event(index))
    }
}

struct Comparison<'a> {
    expected: &'a Side<'a>,
    actual: &'a Side<'a>,
    /// By thread of the expected schedule: that of the actual one.
    threads: Vec<Option<ThreadId>>,
    /// By event of the expected schedule: that of the actual one.
    events: Vec<Option<usize>>,
}

impl<'a> Comparison<'a> {
    fn new(expected: &'a Side<'a>, actual: &'a Side<'a>) -> Self {
        let threads = match_threads(expected, actual);
        let mut events = vec![None; expected.schedule.events.len()];
        for (own, &other) in expected.events.iter().zip(&threads) {
            for (&index, &found) in own.iter().zip(actual.events_of(other)) {
                events[index] = Some(found);
            }
        }
        Comparison { expected, actual, threads, events }
    }

    /// Each thread has the same events, objects aside.
    fn threads(&self) -> Result<(), Difference> {
        let mut first: Option<(usize, Difference)> = None;
        let mut add = |found: Option<(usize, Difference)>| {
            if let Some((index, difference)) = found {
                if first.as_ref().is_none_or(|(earliest, _)| index < *earliest) {
                    first = Some((index, difference));
                }
            }
        };
        for (number, &other) in self.threads.iter().enumerate() {
            let thread = ThreadId(number as u32);
            add(self.thread(thread, other));
        }
        let mut matched = vec![false; self.actual.events.len()];
        self.threads.iter().flatten().for_each(|thread| matched[thread.0 as usize] = true);
        for (number, matched) in matched.iter().enumerate() {
            let (thread, events) = (ThreadId(number as u32), &self.actual.events[number]);
            if !matched && !self.actual.may_lack(thread, events) {
                let actual = self.actual.words(events[0]);
                add(Some((
                    events[0],
                    Difference { thread, position: 0, expected: "no such thread".into(), actual },
                )));
            }
        }
        first.map_or(Ok(()), |(_, difference)| Err(difference))
    }

    /// The first difference of a thread, with a place in the order.
    fn thread(&self, thread: ThreadId, other: Option<ThreadId>) -> Option<(usize, Difference)> {
        let expected = self.expected.events_of(Some(thread));
        let actual = self.actual.events_of(other);
        for (&index, &found) in expected.iter().zip(actual) {
            if let Err((expected, actual)) = self.same_event(index, found) {
                return Some((index, self.difference(index, expected, actual)));
            }
        }
        let common = expected.len().min(actual.len());
        let position = self.expected.steps_done(thread, common);
        if !self.expected.may_lack(thread, &expected[common..]) {
            let what = if other.is_some() { "its end" } else { "no such thread" };
            let index = expected[common];
            return Some((index, self.difference(index, self.expected.words(index), what.to_owned())));
        }
        let other = other?;
        if !self.actual.may_lack(other, &actual[common..]) {
            let found = self.actual.words(actual[common]);
            let difference = Difference { thread, position, expected: "its end".into(), actual: found };
            return Some((actual[common], difference));
        }
        None
    }

    fn difference(&self, index: usize, expected: String, actual: String) -> Difference {
        let thread = self.expected.event(index).thread;
        let position = self.expected.steps_done(thread, self.expected.places[index]);
        Difference { thread, position, expected, actual }
    }

    /// Whether two events are the same, objects aside; else what was expected and what was found.
    fn same_event(&self, index: usize, found: usize) -> Result<(), (String, String)> {
        let (expected, actual) = (self.expected.event(index), self.actual.event(found));
        let words = || (self.expected.words(index), self.actual.words(found));
        let with = |what: &str, expected: String, actual: String| {
            let (one, other) = words();
            Err((format!("{one} with {what} {expected}"), format!("{other} with {what} {actual}")))
        };
        if (expected.op, expected.phase, expected.site) != (actual.op, actual.phase, actual.site)
            || expected.object.is_some() != actual.object.is_some()
        {
            return Err(words());
        }
        let other = expected.child.and_then(|child| self.threads[child.0 as usize]);
        let is_same = match (expected.child, actual.child) {
            // One of code without hooks is not known before its first hook, as to the runtime.
            (None, Some(child)) => self.actual.is_foreign(child),
            (Some(child), None) => self.expected.is_foreign(child),
            _ => other == actual.child,
        };
        if !is_same {
            // The numbers of the two schedules need not agree.
            return with("thread", self.expected.origin(expected.child), self.actual.origin(actual.child));
        }
        let cut_off = (expected.result.is_none() && self.expected.is_last_of_thread(index))
            || (actual.result.is_none() && self.actual.is_last_of_thread(found));
        if expected.result != actual.result && !cut_off {
            return with("result", number(expected.result), number(actual.result));
        }
        if expected.count != actual.count {
            return with("count", number(expected.count), number(actual.count));
        }
        if expected.unwound != actual.unwound {
            return with("unwound", expected.unwound.to_string(), actual.unwound.to_string());
        }
        let waker = expected.waker.and_then(|waker| self.expected.schedule.index_of(waker));
        let other = actual.waker.and_then(|waker| self.actual.schedule.index_of(waker));
        if waker.and_then(|waker| self.events[waker]) != other || waker.is_some() != other.is_some() {
            let name = |side: &Side<'_>, waker: Option<usize>| match waker {
                Some(waker) => format!("{} of {}", side.words(waker), side.event(waker).thread),
                None => "none".to_owned(),
            };
            return with("waker", name(self.expected, waker), name(self.actual, other));
        }
        Ok(())
    }

    /// Objects correspond, in the expected order of the events.
    fn objects(&self) -> Result<(), Difference> {
        let fixed = fixed_objects(self.expected.schedule);
        let also_fixed = fixed_objects(self.actual.schedule);
        let mut there: HashMap<ObjectId, ObjectId> = HashMap::new();
        let mut back: HashMap<ObjectId, ObjectId> = HashMap::new();
        for (index, found) in self.events.iter().enumerate() {
            let Some(found) = *found else { continue };
            let (expected, actual) = (self.expected.event(index), self.actual.event(found));
            for (object, other) in [(expected.object, actual.object), (expected.mutex, actual.mutex)] {
                let (Some(object), Some(other)) = (object, other) else { continue };
                if !fixed[object.0 as usize] && !also_fixed[other.0 as usize] {
                    continue;
                }
                let symbol = &self.expected.schedule.objects[object.0 as usize].symbol;
                let other_symbol = &self.actual.schedule.objects[other.0 as usize].symbol;
                let known = *there.entry(object).or_insert(other);
                let known_back = *back.entry(other).or_insert(object);
                if known == other && known_back == object && symbol == other_symbol {
                    continue;
                }
                // The names of the two schedules need not agree, so say which object it was before.
                let mut words = self.actual.words(found);
                if known_back != object {
                    let name = describe_object(self.expected.schedule, known_back);
                    words += &format!(", on the object that was {name} before");
                } else if known != other {
                    words += ", on another object than before";
                }
                return Err(self.difference(index, self.expected.words(index), words));
            }
        }
        Ok(())
    }

    /// Each edge holds in the actual order.
    fn happens_before(&self) -> Result<(), Difference> {
        let mut first = None;
        // By gather: the arrival that is the last in the actual order.
        let mut gathers: Vec<Option<(usize, usize)>> = Vec::new();
        let place = |index: usize| Some((self.events[index]?, index));
        order::for_each_edge(self.expected.schedule, Order::Hb, |Edge { from, to, .. }| {
            if first.is_some() {
                return;
            }
            let from = match from {
                Node::Step(index) => place(index),
                Node::Gather(number) => gathers[number],
            };
            match to {
                Node::Gather(number) => {
                    gathers.resize(number + 1, None);
                    gathers[number] = gathers[number].max(from);
                }
                Node::Step(index) => {
                    let (Some((cause, from)), Some((effect, _))) = (from, place(index)) else { return };
                    if cause >= effect {
                        first = Some(self.out_of_order(from, index));
                    }
                }
            }
        });
        first.map_or(Ok(()), Err)
    }

    /// The steps are in the same order.
    fn total_order(&self) -> Result<(), Difference> {
        let mut last: Option<(usize, usize)> = None;
        for (index, found) in self.events.iter().enumerate() {
            let Some(found) = found.filter(|_| is_step(self.expected.event(index))) else { continue };
            if let Some((_, before)) = last.filter(|&(place, _)| place > found) {
                return Err(self.out_of_order(before, index));
            }
            last = Some((found, index));
        }
        Ok(())
    }

    fn out_of_order(&self, from: usize, to: usize) -> Difference {
        let by = self.expected.event(from).thread;
        let expected = format!("{} after {} of {by}", self.expected.words(to), self.expected.words(from));
        self.difference(to, expected, "it before".to_owned())
    }
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}

/// By thread of the expected schedule: the thread of the actual one in the same place.
fn match_threads(expected: &Side<'_>, actual: &Side<'_>) -> Vec<Option<ThreadId>> {
    let mut children: HashMap<(ThreadId, u32), ThreadId> = HashMap::new();
    for (number, thread) in actual.schedule.threads.iter().enumerate() {
        if let Some(parent) = thread.parent {
            children.insert((parent, thread.nth), ThreadId(number as u32));
        }
    }
    let mut matched = match_foreign(expected, actual);
    for (number, thread) in expected.schedule.threads.iter().enumerate() {
        match thread.parent {
            // A parent's number is smaller than its child's.
            Some(parent) => {
                let parent = matched.get(parent.0 as usize).copied().flatten();
                matched[number] = parent.and_then(|parent| children.get(&(parent, thread.nth)).copied());
            }
            None if number == 0 => matched[number] = Some(ThreadId::MAIN),
            None => {}
        }
    }
    matched
}

/// The same for threads of code without hooks alone. As in the runtime, a thread is known by its first step, best with
/// the name of its object. What is left is matched by its order, so that the difference is told where it is.
fn match_foreign(expected: &Side<'_>, actual: &Side<'_>) -> Vec<Option<ThreadId>> {
    let mut matched = vec![None; expected.schedule.threads.len()];
    let (mut left, mut found) = (expected.foreign(), actual.foreign());
    let keys: [for<'a> fn(FirstStep<'a>) -> FirstStep<'a>; 3] =
        [|first| first, |(step, _)| (step, None), |_| (None, None)];
    for key in keys {
        let mut candidates: HashMap<FirstStep<'_>, VecDeque<ThreadId>> = HashMap::new();
        for thread in found.drain(..) {
            candidates.entry(key(actual.first_step(thread))).or_default().push_back(thread);
        }
        left.retain(|&thread| {
            let candidate =
                candidates.get_mut(&key(expected.first_step(thread))).and_then(VecDeque::pop_front);
            matched[thread.0 as usize] = candidate;
            candidate.is_none()
        });
        found = candidates.into_values().flatten().collect();
        found.sort_unstable();
    }
    matched
}

#[cfg(test)]
mod tests;
