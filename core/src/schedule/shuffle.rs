//! Test aid: other runs of a schedule. [`linearization`] gives an order of the steps that a graph allows, [`reordered`]
//! the schedule that a recording in that order would have given.

use super::order::{is_step, Edge, Graph, Node};
use super::{Event, ObjectId, Schedule, Seq, ThreadId};
use crate::hash::mix;
use crate::hooks::ObjectClass;
use std::collections::HashMap;

/// Numbers that look random.
pub(super) struct Random(pub u64);

impl Random {
    /// Below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) % limit as u64) as usize
    }
}

/// An order of the steps that keeps all edges, ties broken at random. `None` if there is a cycle.
pub(super) fn linearization(
    schedule: &Schedule,
    edges: impl Iterator<Item = Edge>,
    random: &mut Random,
) -> Option<Vec<usize>> {
    let mut after: HashMap<Node, Vec<Node>> = HashMap::new();
    let mut missing: HashMap<Node, usize> = HashMap::new();
    for edge in edges {
        after.entry(edge.from).or_default().push(edge.to);
        *missing.entry(edge.to).or_default() += 1;
        missing.entry(edge.from).or_default();
    }
    let steps: Vec<usize> =
        (0..schedule.events.len()).filter(|&index| is_step(&schedule.events[index])).collect();
    steps.iter().for_each(|&index| {
        missing.entry(Node::Step(index)).or_default();
    });
    let mut ready: Vec<Node> = missing.iter().filter(|(_, &n)| n == 0).map(|(&node, _)| node).collect();
    ready.sort_unstable();
    let mut order = Vec::new();
    while !ready.is_empty() {
        let node = ready.swap_remove(random.below(ready.len()));
        if let Node::Step(index) = node {
            order.push(index);
        }
        for next in after.get(&node).into_iter().flatten() {
            let left = missing.get_mut(next).unwrap();
            *left -= 1;
            if *left == 0 {
                ready.push(*next);
            }
        }
    }
    (order.len() == steps.len()).then_some(order)
}

/// The schedule with its steps in this order; threads and objects are numbered anew, as that order names them.
pub(super) fn reordered(schedule: &Schedule, order: &[usize]) -> Schedule {
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut events: Vec<Event> = Vec::new();
    for &step in order {
        let calls = schedule.events[..step].iter().rev().take_while(|event| !is_step(event)).count();
        for (index, event) in schedule.events.iter().enumerate().take(step + 1).skip(step - calls) {
            places.insert(index, events.len());
            events.push(event.clone());
        }
    }
    let mut names = Names::new(schedule);
    for event in &mut events {
        event.waker = event.waker.map(|waker| Seq(places[&(waker.0 as usize - 1)] as u64 + 1));
        event.thread = names.thread(event.thread);
        event.object = event.object.map(|object| names.object(object));
        event.mutex = event.mutex.map(|mutex| names.object(mutex));
        event.child = event.child.map(|child| names.thread(child));
    }
    let mut result = Schedule { events, ..schedule.clone() };
    result.objects = names.object_order.iter().map(|id| schedule.objects[id.0 as usize].clone()).collect();
    let mut counts: HashMap<ObjectClass, u32> = HashMap::new();
    for object in &mut result.objects {
        let count = counts.entry(object.class).or_default();
        object.number = *count;
        *count += 1;
    }
    result.threads = names.thread_order.iter().map(|id| schedule.threads[id.0 as usize].clone()).collect();
    for thread in &mut result.threads {
        thread.parent = thread.parent.map(|parent| names.threads[&parent]);
    }
    result
}

struct Names {
    threads: HashMap<ThreadId, ThreadId>,
    thread_order: Vec<ThreadId>,
    objects: HashMap<ObjectId, ObjectId>,
    object_order: Vec<ObjectId>,
}

impl Names {
    fn new(schedule: &Schedule) -> Names {
        let (objects, object_order) = (HashMap::new(), Vec::with_capacity(schedule.objects.len()));
        let mut names = Names { threads: HashMap::new(), thread_order: Vec::new(), objects, object_order };
        names.thread(ThreadId::MAIN);
        names
    }

    fn thread(&mut self, old: ThreadId) -> ThreadId {
        *self.threads.entry(old).or_insert_with(|| {
            self.thread_order.push(old);
            ThreadId(self.thread_order.len() as u32 - 1)
        })
    }

    fn object(&mut self, old: ObjectId) -> ObjectId {
        *self.objects.entry(old).or_insert_with(|| {
            self.object_order.push(old);
            ObjectId(self.object_order.len() as u32 - 1)
        })
    }
}

/// By node: which nodes come before it.
pub(super) struct Closure {
    /// Sets as bits; a step has an even number, the gather after it the odd one.
    before: Vec<Vec<u64>>,
    keys: HashMap<Node, usize>,
}

impl Closure {
    pub(super) fn new(schedule: &Schedule, graph: &Graph) -> Closure {
        let size = 2 * schedule.events.len();
        let mut keys: HashMap<Node, usize> =
            (0..schedule.events.len()).map(|index| (Node::Step(index), 2 * index)).collect();
        for (number, arrivals) in graph.gathers.iter().enumerate() {
            keys.insert(Node::Gather(number), 2 * arrivals.iter().max().unwrap() + 1);
        }
        let mut edges: Vec<(usize, usize)> =
            graph.edges.iter().map(|edge| (keys[&edge.to], keys[&edge.from])).collect();
        edges.sort_unstable();
        let mut before = vec![vec![0; size.div_ceil(64)]; size];
        for (to, from) in edges {
            assert!(from < to, "an edge goes back");
            let (earlier, later) = before.split_at_mut(to);
            later[0].iter_mut().zip(&earlier[from]).for_each(|(to, from)| *to |= from);
            later[0][from / 64] |= 1 << (from % 64);
        }
        Closure { before, keys }
    }

    pub(super) fn is_before(&self, from: Node, to: Node) -> bool {
        let from = self.keys[&from];
        self.before[self.keys[&to]][from / 64] & 1 << (from % 64) != 0
    }

    /// The same steps come before each step.
    pub(super) fn agrees_on_steps(&self, other: &Closure) -> bool {
        const STEPS: u64 = 0x5555_5555_5555_5555;
        let rows = self.before.iter().zip(&other.before).step_by(2);
        rows.flat_map(|(a, b)| a.iter().zip(b)).all(|(a, b)| a & STEPS == b & STEPS)
    }

    /// The same nodes come before each node.
    pub(super) fn agrees(&self, other: &Closure) -> bool {
        self.before == other.before
    }
}
