//! The transitive reduction: the edges that follow from no others.
//!
//! One pass in recorded order. A node's sources are looked at from the latest to the earliest; a source that is known
//! already, through the thread's own order or through a later source, is left out, else its clock is joined. A source
//! can be covered only by a later one, since edges go forward in the recorded order, so what is kept is exactly
//! the reduction (which is unique, the graph having no cycles). A node's clock lives as long as a rule can still
//! name the node.

use super::clock::Clock;
use super::waits::Arrival;
use super::walk::{walk, Sink, Source};
use super::{Edge, EdgeKind, Graph, Node, Order};
use crate::hooks::ObjectClass;
use crate::ids::ThreadId;
use crate::schedule::Schedule;

/// The transitive reduction of an order; the schedule has passed verify.
pub fn reduced(schedule: &Schedule, order: Order) -> Graph {
    let mut reducer = Reducer::new(schedule);
    walk(schedule, order, &mut reducer);
    reducer.graph
}

/// A node, and what comes before it.
#[derive(Clone)]
struct Mark {
    node: Node,
    /// Its place in the walk.
    place: u64,
    /// Its thread, or its barrier.
    chain: u32,
    /// Its place there, from 1.
    count: u32,
    /// What it knows, itself included.
    clock: Clock,
}

struct Reducer {
    graph: Graph,
    /// Knows nothing.
    empty: Clock,
    place: u64,
    /// How many nodes each chain has.
    counts: Vec<u32>,
    /// The chain of each barrier, by index of the object.
    barriers: Vec<u32>,
}

impl Reducer {
    fn new(schedule: &Schedule) -> Reducer {
        let mut chains = schedule.threads.len();
        let barriers = schedule.objects.iter().map(|object| {
            let chain = chains as u32;
            chains += usize::from(object.class == ObjectClass::Barrier);
            chain
        });
        let barriers = barriers.collect();
        let (graph, empty) = (Graph::default(), Clock::new(chains));
        Reducer { graph, empty, place: 0, counts: vec![0; chains], barriers }
    }

    /// A node with these sources.
    fn node<'m>(
        &mut self,
        node: Node,
        chain: u32,
        sources: impl Iterator<Item = (&'m Mark, EdgeKind)>,
    ) -> Mark {
        let mut clock = self.empty.clone();
        for (source, kind) in sources {
            if clock.get(source.chain as usize) < source.count {
                clock.join(&source.clock);
                self.graph.edges.push(Edge { from: source.node, to: node, kind });
            }
        }
        let count = &mut self.counts[chain as usize];
        *count += 1;
        clock.set(chain as usize, *count);
        self.place += 1;
        Mark { node, place: self.place, chain, count: *count, clock }
    }
}

impl Sink for Reducer {
    type Mark = Mark;

    fn step(&mut self, index: usize, thread: ThreadId, sources: &mut Vec<Source<Mark>>) -> Mark {
        // Of two edges between the same nodes the one that needs no enforcing is kept.
        sources.sort_unstable_by_key(|source| (std::cmp::Reverse(source.mark.place), source.kind));
        self.node(Node::Step(index), thread.0, sources.iter().map(|source| (&source.mark, source.kind)))
    }

    fn gather(&mut self, barrier: usize, before: Option<&Mark>, arrivals: &[Arrival<Mark>]) -> Mark {
        let node = Node::Gather(self.graph.gathers.len());
        self.graph.gathers.push(arrivals.iter().map(|arrival| arrival.index).collect());
        let chain = self.barriers[barrier];
        let latest_first = arrivals.iter().rev().map(|arrival| &arrival.mark).chain(before);
        self.node(node, chain, latest_first.map(|mark| (mark, EdgeKind::Gather)))
    }
}
