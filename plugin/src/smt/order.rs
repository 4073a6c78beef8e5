//! Chains of inequalities: `k < hi`, `hi <= lo` and `lo <= l` say that `l - k` is at least 1. A graph of lower
//! bounds of differences, searched from one term to the other (difference logic, as far as a short search goes).
//!
//! A node is a term read as a signed or as an unsigned integer. Where both readings agree, and where a term is
//! another one made wider or moved by a constant without wrapping, they are one node: so an edge about a 32-bit
//! index serves the 64-bit address that is computed from it.

use super::bits::{mask, signed, signed_max, signed_min, Binary};
use super::bounds::Bounds;
use super::terms::{Term, Terms, View};
use std::collections::{HashMap, VecDeque};

/// Nodes that a search visits.
const VISITS: usize = 300;

/// A term read as an integer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Node {
    pub term: Term,
    pub is_signed: bool,
}

/// `to - from >= at_least`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Edge {
    pub from: Node,
    pub to: Node,
    pub at_least: i128,
}

/// A node plus a constant: the integer value of a term.
pub(super) type Anchor = (Node, i128);

/// The integer that a term is, from the simplest term that it differs from by a constant.
pub(super) fn anchor(
    terms: &Terms,
    of: &mut dyn FnMut(Term) -> Bounds,
    term: Term,
    is_signed: bool,
) -> Anchor {
    let mut node = Node { term, is_signed };
    let mut plus = 0i128;
    loop {
        let width = terms.width(node.term);
        match terms.view(node.term) {
            View::Zext(inner) => node = Node { term: inner, is_signed: false },
            View::Sext(inner) if node.is_signed || of(inner).is_natural() => {
                node = Node { term: inner, is_signed: true };
            }
            View::Sum(&[(part, 1)], constant) => {
                let by = i128::from(signed(width, constant));
                let bounds = of(part);
                let fits = if node.is_signed {
                    i128::from(bounds.signed.0) + by >= i128::from(signed_min(width))
                        && i128::from(bounds.signed.1) + by <= i128::from(signed_max(width))
                } else {
                    i128::from(bounds.unsigned.0) + by >= 0
                        && i128::from(bounds.unsigned.1) + by <= i128::from(mask(width))
                };
                if !fits {
                    break;
                }
                node.term = part;
                plus += by;
            }
            _ => break,
        }
    }
    if of(node.term).is_natural() {
        node.is_signed = true;
    }
    (node, plus)
}

/// The edges that a fact gives.
pub(super) fn edges(
    terms: &Terms,
    fact: Term,
    of: &mut dyn FnMut(Term) -> Bounds,
    tell: &mut dyn FnMut(Edge),
) {
    let (holds, claim) = match terms.view(fact) {
        View::Not(inner) => (false, inner),
        _ => (true, fact),
    };
    let View::Binary(op, a, b) = terms.view(claim) else { return };
    if !op.is_comparison() || terms.as_constant(a).is_some() || terms.as_constant(b).is_some() {
        return;
    }
    let mut say = |lesser: Term, greater: Term, by: i128, is_signed: bool| {
        let (from, from_plus) = anchor(terms, of, lesser, is_signed);
        let (to, to_plus) = anchor(terms, of, greater, is_signed);
        // greater - lesser >= by
        tell(Edge { from, to, at_least: by + from_plus - to_plus });
    };
    match (op, holds) {
        (Binary::Eq, true) => {
            for is_signed in [false, true] {
                say(a, b, 0, is_signed);
                say(b, a, 0, is_signed);
            }
        }
        (Binary::Ult | Binary::Slt, true) => say(a, b, 1, op == Binary::Slt),
        (Binary::Ult | Binary::Slt, false) => say(b, a, 0, op == Binary::Slt),
        _ => {}
    }
}

/// Edges by where they start.
#[derive(Default)]
pub(super) struct Order {
    next: HashMap<Node, Vec<(Node, i128)>>,
}

impl Order {
    pub fn add(&mut self, edge: Edge) {
        self.next.entry(edge.from).or_default().push((edge.to, edge.at_least));
    }

    /// The greatest lower bound of `to - from` that a short search finds, using `more` edges and intervals.
    pub fn at_least(
        &self,
        more: &[Edge],
        from: Node,
        to: Node,
        of: &mut dyn FnMut(Node) -> (i128, i128),
    ) -> i128 {
        let (to_least, _) = of(to);
        let mut found = if from == to { 0 } else { i128::MIN };
        let mut best: HashMap<Node, (i128, u32)> = HashMap::from([(from, (0, 1))]);
        let mut open = VecDeque::from([from]);
        let mut visits = 0;
        while let Some(node) = open.pop_front() {
            let distance = best[&node].0;
            found = found.max(distance + to_least - of(node).1);
            if node == to {
                found = found.max(distance);
            }
            visits += 1;
            if visits > VISITS {
                break;
            }
            let known = self.next.get(&node).map_or(&[][..], Vec::as_slice).iter().copied();
            let extra = more.iter().filter(|edge| edge.from == node).map(|edge| (edge.to, edge.at_least));
            for (next, by) in known.chain(extra) {
                let farther = distance + by;
                let entry = best.entry(next).or_insert((i128::MIN, 0));
                // A chain that grows round a circle is a contradiction, and the solver's to find.
                if farther > entry.0 && entry.1 < 8 {
                    *entry = (farther, entry.1 + 1);
                    open.push_back(next);
                }
            }
        }
        found
    }
}
