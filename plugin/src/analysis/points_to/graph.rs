//! The constraint graph: nodes with their points-to sets, and edges along which sets flow.
//!
//! Difference propagation: a node remembers what it has that it did not hand on yet. Nodes are taken in topological order
//! of the edges (Pereira and Berlin's wave propagation); now and then the order is computed anew, and nodes of a cycle,
//! which have the same set in the end, become one (union-find).

use super::bits::BitSet;
use super::locations::{LocationId, LocationSet};
use super::memory::ObjectId;
use crate::epoch::graph::components;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A node: what a register or a place in memory may hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub u32);

impl Node {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Nodes, with rules of type `R` that apply to each member of a node's set.
pub struct Graph<R> {
    /// Towards the node that stands for it.
    parents: Vec<u32>,
    sets: Vec<LocationSet>,
    /// The part of the set that is still to be handed on.
    pending: Vec<LocationSet>,
    next: Vec<BitSet>,
    rules: Vec<Vec<R>>,
    /// Place in the topological order, when it was last computed; later nodes come last.
    order: Vec<u32>,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
    is_queued: Vec<bool>,
    /// Objects that a pointer to unknown code's memory stands for.
    hidden: BitSet,
    edges: usize,
    /// Edges since the order was computed.
    new_edges: usize,
    /// See [`Limits::new_edges`](super::limits::Limits::new_edges).
    most_new_edges: usize,
    /// Of work done, in nodes that were taken.
    pub taken: usize,
    /// How often the order was computed.
    pub orderings: usize,
}

impl<R> Graph<R> {
    /// No nodes.
    pub fn new(most_new_edges: usize) -> Self {
        Graph {
            parents: Vec::new(),
            sets: Vec::new(),
            pending: Vec::new(),
            next: Vec::new(),
            rules: Vec::new(),
            order: Vec::new(),
            queue: BinaryHeap::new(),
            is_queued: Vec::new(),
            hidden: BitSet::default(),
            edges: 0,
            new_edges: 0,
            most_new_edges,
            taken: 0,
            orderings: 0,
        }
    }

    /// A node with an empty set.
    pub fn add(&mut self) -> Node {
        let node = self.parents.len() as u32;
        self.parents.push(node);
        self.sets.push(LocationSet::default());
        self.pending.push(LocationSet::default());
        self.next.push(BitSet::default());
        self.rules.push(Vec::new());
        self.order.push(node);
        self.is_queued.push(false);
        Node(node)
    }

    /// How many nodes were made.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// How many edges and rules there are.
    pub fn constraint_count(&self) -> usize {
        self.edges + self.rules.iter().map(Vec::len).sum::<usize>()
    }

    /// The node that stands for it.
    pub fn find(&self, node: Node) -> Node {
        let mut at = node.0;
        while self.parents[at as usize] != at {
            at = self.parents[at as usize];
        }
        Node(at)
    }

    /// What it may hold.
    pub fn set(&self, node: Node) -> &LocationSet {
        &self.sets[self.find(node).index()]
    }

    /// It may hold this.
    pub fn insert(&mut self, node: Node, member: LocationId) {
        let node = self.find(node);
        if self.hidden.contains(member.object().0) && self.sets[node.index()].has_external() {
            return;
        }
        if self.sets[node.index()].insert(member) {
            self.pending[node.index()].insert(member);
            self.enqueue(node);
        }
    }

    /// It may hold all of these.
    pub fn unite(&mut self, node: Node, members: &LocationSet) {
        let node = self.find(node);
        let (set, pending) = (&mut self.sets[node.index()], &mut self.pending[node.index()]);
        let mut new = members.without(set);
        if set.has_external() {
            new = new.outside_of(&self.hidden);
        }
        if !new.is_empty() {
            set.unite(&new);
            pending.unite(&new);
            self.enqueue(node);
        }
    }

    /// From now on a pointer to unknown code's memory stands for one to this object, too.
    pub fn hide(&mut self, object: ObjectId) {
        self.hidden.insert(object.0);
    }

    /// What one may hold, the other may hold.
    pub fn connect(&mut self, from: Node, to: Node) {
        let (from, to) = (self.find(from), self.find(to));
        if from == to || !self.next[from.index()].insert(to.0) {
            return;
        }
        self.edges += 1;
        self.new_edges += 1;
        let members = std::mem::take(&mut self.sets[from.index()]);
        self.unite(to, &members);
        self.sets[from.index()] = members;
    }

    /// From now on a rule applies to each member. The caller applies it to those that are there.
    pub fn add_rule(&mut self, node: Node, rule: R) {
        let node = self.find(node);
        self.rules[node.index()].push(rule);
    }

    /// The next node with something new: that is handed on along the edges, and given back with the node's rules, which
    /// are to be returned with [`Graph::put_back`].
    pub fn take(&mut self) -> Option<(Node, LocationSet, Vec<R>)> {
        if self.new_edges > self.most_new_edges + self.edges / 8 {
            self.join_cycles();
        }
        loop {
            let Reverse((_, number)) = self.queue.pop()?;
            let node = Node(number);
            self.is_queued[node.index()] = false;
            if self.find(node) != node || self.pending[node.index()].is_empty() {
                continue;
            }
            self.taken += 1;
            let new = std::mem::take(&mut self.pending[node.index()]);
            let next = std::mem::take(&mut self.next[node.index()]);
            for to in next.iter() {
                if self.find(Node(to)) != node {
                    self.unite(Node(to), &new);
                }
            }
            self.next[node.index()] = next;
            return Some((node, new, std::mem::take(&mut self.rules[node.index()])));
        }
    }

    /// See [`Graph::take`].
    pub fn put_back(&mut self, node: Node, mut rules: Vec<R>) {
        let root = self.find(node).index();
        let now = &mut self.rules[root];
        rules.append(now);
        *now = rules;
    }

    fn enqueue(&mut self, node: Node) {
        if !self.is_queued[node.index()] {
            self.is_queued[node.index()] = true;
            self.queue.push(Reverse((self.order[node.index()], node.0)));
        }
    }

    /// Makes nodes of a cycle one, and orders the rest.
    fn join_cycles(&mut self) {
        self.orderings += 1;
        self.new_edges = 0;
        let found = components(self.len(), |at| {
            if self.parents[at] as usize != at {
                return Vec::new();
            }
            self.next[at].iter().map(|to| self.find(Node(to)).index()).collect()
        });
        let count = found.len() as u32;
        for (place, component) in found.into_iter().enumerate() {
            let Some((&first, others)) = component.nodes.split_first() else { continue };
            for &other in others {
                self.join(Node(first as u32), Node(other as u32));
            }
            // What is reached comes first in the list, and last in the order.
            self.order[first] = count - place as u32;
        }
        for at in 0..self.len() {
            let Node(root) = self.find(Node(at as u32));
            self.parents[at] = root;
        }
        self.edges = 0;
        for at in 0..self.len() {
            if !self.next[at].is_empty() {
                let targets = self.next[at].iter().map(|to| self.parents[to as usize]);
                self.next[at] = targets.filter(|&to| to as usize != at).collect();
                self.edges += self.next[at].len();
            }
        }
        for at in 0..self.len() {
            if self.sets[at].has_external() {
                self.sets[at] = self.sets[at].outside_of(&self.hidden);
                self.pending[at] = self.pending[at].common(&self.sets[at]);
            }
        }
        self.queue.clear();
        for at in 0..self.len() {
            self.is_queued[at] = self.parents[at] as usize == at && !self.pending[at].is_empty();
            if self.is_queued[at] {
                self.queue.push(Reverse((self.order[at], at as u32)));
            }
        }
    }

    /// Lets one node stand for another. What only one of them has handed on is to be handed on again: the other's edges
    /// and rules have not seen it.
    fn join(&mut self, to: Node, from: Node) {
        let (to, from) = (to.index(), from.index());
        self.parents[from] = to as u32;
        let set = std::mem::take(&mut self.sets[from]);
        let done = set.without(&std::mem::take(&mut self.pending[from]));
        let both = self.sets[to].without(&self.pending[to]).common(&done);
        self.sets[to].unite(&set);
        self.pending[to] = self.sets[to].without(&both);
        let next = std::mem::take(&mut self.next[from]);
        self.next[to].unite(&next);
        let mut rules = std::mem::take(&mut self.rules[from]);
        self.rules[to].append(&mut rules);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(object: u32) -> LocationId {
        LocationId::new(super::super::ObjectId(object), 1)
    }

    fn run(graph: &mut Graph<()>) {
        while let Some((node, _, rules)) = graph.take() {
            graph.put_back(node, rules);
        }
    }

    #[test]
    fn sets_flow_along_edges_whenever_they_are_added() {
        let mut graph = Graph::new(2000);
        let nodes: Vec<Node> = (0..4).map(|_| graph.add()).collect();
        graph.insert(nodes[0], at(5));
        graph.connect(nodes[1], nodes[2]);
        graph.connect(nodes[0], nodes[1]);
        run(&mut graph);
        graph.connect(nodes[2], nodes[3]);
        graph.insert(nodes[1], at(9));
        run(&mut graph);
        assert_eq!(graph.set(nodes[3]).iter().collect::<Vec<_>>(), [at(5), at(9)]);
        assert_eq!(graph.set(nodes[0]).iter().collect::<Vec<_>>(), [at(5)]);
    }

    #[test]
    fn a_cycle_becomes_one_node_that_has_seen_everything() {
        let mut graph = Graph::new(2000);
        let nodes: Vec<Node> = (0..6).map(|_| graph.add()).collect();
        for index in 0..4 {
            graph.connect(nodes[index], nodes[(index + 1) % 4]);
            graph.insert(nodes[index], at(index as u32));
        }
        graph.connect(nodes[2], nodes[4]);
        graph.add_rule(nodes[3], ());
        graph.join_cycles();
        graph.connect(nodes[1], nodes[5]);
        let mut seen = LocationSet::default();
        while let Some((node, new, rules)) = graph.take() {
            if !rules.is_empty() {
                seen.unite(&new);
            }
            graph.put_back(node, rules);
        }
        assert!(nodes[..4].iter().all(|&node| graph.find(node) == graph.find(nodes[0])));
        for index in [0, 4, 5] {
            assert_eq!(graph.set(nodes[index]).iter().count(), 4, "{index}");
        }
        assert_eq!(seen.iter().count(), 4);
        graph.insert(nodes[2], at(77));
        run(&mut graph);
        assert!(
            graph.set(nodes[5]).iter().any(|member| member == at(77))
                && graph.set(nodes[4]).iter().any(|member| member == at(77))
        );
    }
}
