//! A product as what clones are made of: traps are shared by layer, and where an exception lands after a call that may
//! not have synchronized, the landing pad is copied once more, to go on in either layer.

use super::layers::{self, Product};
use crate::ir::clone::{self, Body, Guards, Lands, Node, NodeId, PieceId, Target, Trap, TrapId};
use crate::ir::Function;
use std::collections::HashMap;

/// The parts of a body while its nodes are made.
pub struct BodyBuilder<'a, 'm> {
    product: &'a Product,
    words: Box<dyn Fn(u32) -> Trap + 'a>,
    traps: Vec<Trap>,
    by_layer: HashMap<u32, TrapId>,
    by_words: HashMap<Trap, TrapId>,
    /// Come after the product's own.
    landings: Vec<Node<'m>>,
    by_targets: HashMap<(Target, Target), NodeId>,
}

impl<'a, 'm> BodyBuilder<'a, 'm> {
    /// Of a product; `words` says what is expected in a layer.
    pub fn new(product: &'a Product, words: impl Fn(u32) -> Trap + 'a) -> Self {
        BodyBuilder {
            product,
            words: Box::new(words),
            traps: Vec::new(),
            by_layer: HashMap::new(),
            by_words: HashMap::new(),
            landings: Vec::new(),
            by_targets: HashMap::new(),
        }
    }

    /// The product.
    pub fn product(&self) -> &'a Product {
        self.product
    }

    /// The trap of a layer.
    pub fn trap(&mut self, layer: u32) -> TrapId {
        *self.by_layer.entry(layer).or_insert_with(|| {
            self.traps.push((self.words)(layer));
            TrapId(self.traps.len() as u32 - 1)
        })
    }

    /// The trap that says this.
    pub fn trap_saying(&mut self, trap: Trap) -> TrapId {
        *self.by_words.entry(trap).or_insert_with_key(|trap| {
            self.traps.push(trap.clone());
            TrapId(self.traps.len() as u32 - 1)
        })
    }

    /// Where an edge goes.
    pub fn target(&mut self, target: layers::Target) -> Target {
        match target {
            layers::Target::Node(node) => Target::Node(NodeId(node.0)),
            layers::Target::Trap(layer) => Target::Trap(self.trap(layer)),
        }
    }

    /// What lands in a copy of a landing pad; `must_stay`: nothing may leave the function there.
    pub fn lands(&self, must_stay: bool) -> Lands {
        match must_stay {
            false => Lands::Same,
            true if self.product.resumes => Lands::Passing,
            true => Lands::All,
        }
    }

    /// Where exceptions land that come from a call of which only its flag says whether it was done.
    pub fn landing(&mut self, done: layers::Target, not_done: layers::Target, own_flag: bool) -> Target {
        let node = |target: layers::Target| match target {
            layers::Target::Node(node) => Some(&self.product.nodes[node.index()]),
            layers::Target::Trap(_) => None,
        };
        let (done_node, not_done_node) = (node(done), node(not_done));
        let Some(piece) = done_node.or(not_done_node).map(|node| node.piece) else {
            return self.target(done);
        };
        let behind =
            |node: Option<&layers::Node>, trap| node.and_then(|n| n.next.first().copied()).unwrap_or(trap);
        let (done, not_done) = (behind(done_node, done), behind(not_done_node, not_done));
        let (done, not_done) = (self.target(done), self.target(not_done));
        let must_stay = [done_node, not_done_node].iter().flatten().any(|node| node.must_stay);
        let lands = self.lands(must_stay);
        let number = NodeId((self.product.nodes.len() + self.landings.len()) as u32);
        let landing = *self.by_targets.entry((done, not_done)).or_insert(number);
        if landing == number {
            self.landings.push(Node {
                piece: PieceId(piece.0),
                next: vec![done],
                callee: clone::Callee::Same,
                only_if: None,
                not_done: Some(not_done),
                own_flag,
                start: None,
                escape: None,
                lands,
                item: None,
            });
        }
        Target::Node(landing)
    }

    /// The body, of the product's nodes as they were made. `takes_flag`: the clone says whether its items were done.
    pub fn finish(
        mut self,
        mut nodes: Vec<Node<'m>>,
        takes_flag: bool,
        guards: Guards,
        not_covered: Function<'m>,
    ) -> Body<'m> {
        let mut sets_flag_at = Vec::new();
        if takes_flag {
            let all = (0..).map(NodeId).zip(&self.product.nodes);
            sets_flag_at.extend(all.filter(|(_, node)| node.begins).map(|(id, _)| id));
        }
        nodes.append(&mut self.landings);
        let not_covered = Some(not_covered);
        Body { nodes, traps: self.traps, entry: NodeId(0), guards, not_covered, sets_flag_at }
    }
}
