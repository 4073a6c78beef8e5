//! Answers without a solver: the intervals that facts and a question's context give to terms, carried upwards by
//! the rules of `bounds.rs`, and chains of inequalities (`order.rs`). Most alias questions end here: the distance
//! of two addresses is a short sum, and its interval is apart from zero.

use super::bits::{mask, signed, signed_max, signed_min, Binary};
use super::bounds::{compare, integer_range, Bounds};
use super::order::{anchor, edges, Edge, Node, Order};
use super::terms::{Term, Terms, View};
use std::collections::{HashMap, HashSet};

/// How often comparisons of two unknowns are looked at again.
const PASSES: usize = 3;
/// How far below a term a context is looked for.
const DEPTH: u32 = 4;

/// What facts say of single terms.
#[derive(Default)]
pub(super) struct Ranges {
    /// From the facts directly.
    told: HashMap<Term, Bounds>,
    /// Derived, for terms that were asked about.
    derived: HashMap<Term, Bounds>,
    /// The facts, to be recognized as they are.
    facts: HashSet<Term>,
    order: Order,
}

impl Ranges {
    /// Of facts that hold together.
    pub fn of(terms: &Terms, facts: &[Term]) -> Ranges {
        let mut ranges = Ranges::default();
        for pass in 0..PASSES {
            ranges.derived.clear();
            let mut told = HashMap::new();
            for &fact in facts {
                learn(terms, fact, &mut |term| ranges.bounds(terms, term), &mut |term, bounds| {
                    let known = told.entry(term).or_insert_with(|| Bounds::full(terms.width(term)));
                    *known = known.and(bounds, terms.width(term));
                });
            }
            // Contradictions are the solver's to find and to explain.
            told.retain(|_, bounds: &mut Bounds| !bounds.is_empty());
            let is_last = pass > 0 && told == ranges.told;
            ranges.told = told;
            if is_last {
                break;
            }
        }
        ranges.derived.clear();
        ranges.add(terms, facts);
        ranges
    }

    /// The bounds of a term under the facts.
    pub fn bounds(&mut self, terms: &Terms, term: Term) -> Bounds {
        let mut open = vec![term];
        while let Some(&next) = open.last() {
            if self.derived.contains_key(&next) {
                open.pop();
                continue;
            }
            let waiting = open.len();
            terms.operands(next, |operand| {
                if !self.derived.contains_key(&operand) {
                    open.push(operand);
                }
            });
            if open.len() > waiting {
                continue;
            }
            open.pop();
            let bounds = terms.bounds_from(next, &mut |operand| self.derived[&operand]);
            let width = terms.width(next);
            let known = terms.bounds(next);
            let with = self.told.get(&next).map_or(bounds, |told| bounds.and(*told, width)).and(known, width);
            self.derived.insert(next, if with.is_empty() { known } else { with });
        }
        self.derived[&term]
    }

    /// Takes in more that holds.
    pub fn add(&mut self, terms: &Terms, facts: &[Term]) {
        let mut order = std::mem::take(&mut self.order);
        for &fact in facts {
            edges(terms, fact, &mut |term| self.bounds(terms, term), &mut |edge| order.add(edge));
            self.facts.insert(fact);
        }
        self.order = order;
    }

    /// Whether a boolean holds under facts and context; None: the solver must be asked.
    pub fn decide(&mut self, terms: &Terms, context: &[Term], claim: Term) -> Option<bool> {
        if let Some(value) = terms.as_constant(claim) {
            return Some(value == 1);
        }
        let mut scope =
            Scope { ranges: self, context, told: HashMap::new(), edges: Vec::new(), done: HashMap::new() };
        if !scope.learn(terms) {
            return None;
        }
        scope.decide(terms, claim, DEPTH)
    }
}

/// The facts together with a context.
struct Scope<'a> {
    ranges: &'a mut Ranges,
    context: &'a [Term],
    told: HashMap<Term, Bounds>,
    edges: Vec<Edge>,
    /// Bounds under the context, and how deep it was looked for.
    done: HashMap<Term, (u32, Bounds)>,
}

impl Scope<'_> {
    /// Learns from the context; false if it contradicts itself.
    fn learn(&mut self, terms: &Terms) -> bool {
        let mut told: HashMap<Term, Bounds> = HashMap::new();
        for &fact in self.context {
            learn(terms, fact, &mut |term| self.ranges.bounds(terms, term), &mut |term, bounds| {
                let known = told.entry(term).or_insert_with(|| Bounds::full(terms.width(term)));
                *known = known.and(bounds, terms.width(term));
            });
        }
        if told.values().any(Bounds::is_empty) {
            return false;
        }
        self.told = told;
        for &fact in self.context {
            let mut found = Vec::new();
            edges(terms, fact, &mut |term| self.bounds(terms, term, 1), &mut |edge| found.push(edge));
            self.edges.append(&mut found);
        }
        true
    }

    fn bounds(&mut self, terms: &Terms, term: Term, depth: u32) -> Bounds {
        if self.told.is_empty() {
            return self.ranges.bounds(terms, term);
        }
        match self.done.get(&term) {
            Some(&(deep, bounds)) if deep >= depth => return bounds,
            _ => {}
        }
        let width = terms.width(term);
        let mut bounds = self.ranges.bounds(terms, term);
        if depth > 0 {
            let below = terms.bounds_from(term, &mut |operand| self.bounds(terms, operand, depth - 1));
            bounds = bounds.and(below, width);
        }
        if let Some(told) = self.told.get(&term) {
            bounds = bounds.and(*told, width);
        }
        self.done.insert(term, (depth, bounds));
        bounds
    }

    /// Bounds that also use chains of inequalities, for a sum in which terms are subtracted from each other.
    fn sum_bounds(&mut self, terms: &Terms, term: Term, depth: u32) -> Bounds {
        let width = terms.width(term);
        let mut bounds = self.bounds(terms, term, depth);
        if let View::Sum(parts, constant) = terms.view(term) {
            let parts: Vec<_> = parts.iter().map(|&(part, by)| (part, signed(width, by).into())).collect();
            let constant = signed(width, constant).into();
            for as_signed in [false, true] {
                if let Some((low, high)) = self.sum_range(terms, parts.clone(), constant, as_signed, depth) {
                    bounds = bounds.and(Bounds::from_integers(width, low, high), width);
                }
            }
        }
        bounds
    }

    /// The integer range of a sum; parts with opposite coefficients are taken as one difference.
    fn sum_range(
        &mut self,
        terms: &Terms,
        mut parts: Vec<(Term, i128)>,
        constant: i128,
        as_signed: bool,
        depth: u32,
    ) -> Option<(i128, i128)> {
        let (mut low, mut high) = (constant, constant);
        while let Some((term, by)) = parts.pop() {
            let opposite = parts.iter().position(|&(_, other)| other == -by);
            let (least, most) = match opposite.map(|at| parts.swap_remove(at)) {
                // by * term - by * less
                Some((less, _)) => self.gap(terms, less, term, as_signed, depth),
                None => {
                    let bounds = self.bounds(terms, term, depth);
                    match as_signed {
                        true => (bounds.signed.0.into(), bounds.signed.1.into()),
                        false => (bounds.unsigned.0.into(), bounds.unsigned.1.into()),
                    }
                }
            };
            let (one, two) = (by.checked_mul(least)?, by.checked_mul(most)?);
            low = low.checked_add(one.min(two))?;
            high = high.checked_add(one.max(two))?;
        }
        Some((low, high))
    }

    /// The range of `b - a` as integers.
    fn gap(&mut self, terms: &Terms, a: Term, b: Term, as_signed: bool, depth: u32) -> (i128, i128) {
        let (from, from_plus) = anchor(terms, &mut |term| self.bounds(terms, term, depth), a, as_signed);
        let (to, to_plus) = anchor(terms, &mut |term| self.bounds(terms, term, depth), b, as_signed);
        let more = to_plus - from_plus;
        let order = std::mem::take(&mut self.ranges.order);
        let edges = std::mem::take(&mut self.edges);
        let mut of = |node: Node| {
            let bounds = self.bounds(terms, node.term, depth);
            match node.is_signed {
                true => (bounds.signed.0.into(), bounds.signed.1.into()),
                false => (bounds.unsigned.0.into(), bounds.unsigned.1.into()),
            }
        };
        let least = order.at_least(&edges, from, to, &mut of);
        let most = order.at_least(&edges, to, from, &mut of);
        self.ranges.order = order;
        self.edges = edges;
        (least + more, more - most)
    }

    fn decide(&mut self, terms: &Terms, claim: Term, depth: u32) -> Option<bool> {
        if let Some(value) = terms.as_constant(claim) {
            return Some(value == 1);
        }
        if self.ranges.facts.contains(&claim) || self.context.contains(&claim) {
            return Some(true);
        }
        if self.is_denied(terms, claim) {
            return Some(false);
        }
        let depth = depth.checked_sub(1)?;
        match terms.view(claim) {
            View::Not(of) => self.decide(terms, of, depth).map(|inner| !inner),
            View::Binary(Binary::And, a, b) => {
                match (self.decide(terms, a, depth), self.decide(terms, b, depth)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                }
            }
            View::Binary(Binary::Or, a, b) => {
                match (self.decide(terms, a, depth), self.decide(terms, b, depth)) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                }
            }
            View::Binary(op @ (Binary::Eq | Binary::Ult | Binary::Slt), a, b) => {
                self.decide_comparison(terms, op, a, b, depth)
            }
            _ => None,
        }
    }

    fn decide_comparison(&mut self, terms: &Terms, op: Binary, a: Term, b: Term, depth: u32) -> Option<bool> {
        let width = terms.width(a);
        let (left, right) = (self.sum_bounds(terms, a, depth), self.sum_bounds(terms, b, depth));
        if left.is_empty() || right.is_empty() {
            return None;
        }
        if let Some(known) = compare(op, width, &left, &right) {
            return Some(known);
        }
        // b - a, with coefficients as integers: where neither wraps, this is the difference of their values.
        let (a_sum, b_sum) = (terms.affine(a), terms.affine(b));
        let integer = |value: u64| i128::from(signed(width, value));
        let mut parts: Vec<_> = b_sum.parts().iter().map(|&(part, by)| (part, integer(by))).collect();
        parts.extend(a_sum.parts().iter().map(|&(part, by)| (part, -integer(by))));
        let parts = added(parts);
        let constant = integer(b_sum.constant) - integer(a_sum.constant);
        for as_signed in [false, true] {
            if op == Binary::Ult && as_signed || op == Binary::Slt && !as_signed {
                continue;
            }
            let Some((low, high)) = self.sum_range(terms, parts.clone(), constant, as_signed, depth) else {
                continue;
            };
            if low > high {
                return None;
            }
            let size = 1i128 << width;
            if op == Binary::Eq {
                if low.div_euclid(size) == high.div_euclid(size) && low.rem_euclid(size) != 0 {
                    return Some(false);
                }
            } else if self.is_exact(terms, a, as_signed, depth) && self.is_exact(terms, b, as_signed, depth) {
                if low > 0 {
                    return Some(true);
                }
                if high <= 0 {
                    return Some(false);
                }
            }
        }
        None
    }

    /// The sum of coefficients times parts, computed as integers, is the term's own value: it never wraps.
    fn is_exact(&mut self, terms: &Terms, term: Term, as_signed: bool, depth: u32) -> bool {
        let width = terms.width(term);
        let sum = terms.affine(term);
        let range = integer_range(width, sum.parts(), sum.constant, as_signed, &mut |part| {
            self.bounds(terms, part, depth)
        });
        let allowed = if as_signed {
            (i128::from(signed_min(width)), i128::from(signed_max(width)))
        } else {
            (0, i128::from(mask(width)))
        };
        range.is_some_and(|(low, high)| low >= allowed.0 && high <= allowed.1)
    }

    /// The negation is among the facts or in the context.
    fn is_denied(&self, terms: &Terms, claim: Term) -> bool {
        terms
            .negation_of(claim)
            .is_some_and(|negation| self.ranges.facts.contains(&negation) || self.context.contains(&negation))
    }
}

/// Parts of the same term as one.
fn added(mut parts: Vec<(Term, i128)>) -> Vec<(Term, i128)> {
    parts.sort_unstable();
    parts.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    parts.retain(|&(_, by)| by != 0);
    parts
}

/// What one fact says of the terms that it compares.
fn learn(terms: &Terms, fact: Term, of: &mut dyn FnMut(Term) -> Bounds, tell: &mut dyn FnMut(Term, Bounds)) {
    let (holds, claim) = match terms.view(fact) {
        View::Not(inner) => (false, inner),
        _ => (true, fact),
    };
    let View::Binary(op, a, b) = terms.view(claim) else { return };
    let width = terms.width(a);
    let full = Bounds::full(width);
    let (left, right) = (of(a), of(b));
    let mut say = |term: Term, bounds: Bounds| {
        if terms.as_constant(term).is_none() {
            tell(term, bounds);
            shifted(terms, term, bounds, tell);
        }
    };
    match (op, holds) {
        (Binary::Eq, true) => {
            say(a, right);
            say(b, left);
        }
        (Binary::Eq, false) => {
            for (term, known, other) in [(a, left, right), (b, right, left)] {
                let Some(value) = other.constant() else { continue };
                let mut bounds = full;
                // A hole at an end is a shorter interval.
                if known.unsigned.0 == value && value < mask(width) {
                    bounds.unsigned.0 = value + 1;
                }
                if known.unsigned.1 == value && value > 0 {
                    bounds.unsigned.1 = value - 1;
                }
                let value = signed(width, value);
                if known.signed.0 == value && value < signed_max(width) {
                    bounds.signed.0 = value + 1;
                }
                if known.signed.1 == value && value > signed_min(width) {
                    bounds.signed.1 = value - 1;
                }
                say(term, bounds);
            }
        }
        (Binary::Ult, true) => {
            say(a, Bounds { unsigned: (0, right.unsigned.1.saturating_sub(1)), ..full });
            say(
                b,
                Bounds {
                    unsigned: (left.unsigned.0.saturating_add(1).min(mask(width)), mask(width)),
                    ..full
                },
            );
        }
        (Binary::Ult, false) => {
            say(a, Bounds { unsigned: (right.unsigned.0, mask(width)), ..full });
            say(b, Bounds { unsigned: (0, left.unsigned.1), ..full });
        }
        (Binary::Slt, true) => {
            let most = right.signed.1.saturating_sub(1).max(signed_min(width));
            say(a, Bounds { signed: (signed_min(width), most), ..full });
            let least = left.signed.0.saturating_add(1).min(signed_max(width));
            say(b, Bounds { signed: (least, signed_max(width)), ..full });
        }
        (Binary::Slt, false) => {
            say(a, Bounds { signed: (right.signed.0, signed_max(width)), ..full });
            say(b, Bounds { signed: (signed_min(width), left.signed.1), ..full });
        }
        _ => {}
    }
}

/// `x + constant` in an interval: `x` in the interval moved by the constant, where that does not wrap.
fn shifted(terms: &Terms, term: Term, bounds: Bounds, tell: &mut dyn FnMut(Term, Bounds)) {
    let View::Sum(&[(part, 1)], constant) = terms.view(term) else { return };
    let width = terms.width(term);
    let full = Bounds::full(width);
    let mut moved = full;
    let (low, high) = bounds.unsigned;
    if (low, high) != full.unsigned {
        let (low, high) =
            (low.wrapping_sub(constant) & mask(width), high.wrapping_sub(constant) & mask(width));
        if low <= high {
            moved.unsigned = (low, high);
        }
    }
    if bounds.signed != full.signed {
        let part = |end: i64| signed(width, (end as u64).wrapping_sub(constant) & mask(width));
        let (low, high) = (part(bounds.signed.0), part(bounds.signed.1));
        if low <= high {
            moved.signed = (low, high);
        }
    }
    tell(part, moved);
}
