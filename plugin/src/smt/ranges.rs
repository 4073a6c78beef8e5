//! Answers without a solver: the intervals that facts and a question's context give to terms, carried upwards by
//! the rules of `bounds.rs`. Most alias questions end here: the distance of two addresses is a short sum, and its
//! interval is apart from zero.

use super::bits::{mask, signed, signed_max, signed_min, Binary};
use super::bounds::{compare, integer_range, Bounds};
use super::terms::{Term, Terms, View};
use std::collections::HashMap;

/// How often comparisons of two unknowns are looked at again.
const PASSES: usize = 3;
/// How far below a term a context is looked for.
const DEPTH: u32 = 6;

/// What facts say of single terms.
#[derive(Default)]
pub(super) struct Ranges {
    /// From the facts directly.
    told: HashMap<Term, Bounds>,
    /// Derived, for terms that were asked about.
    derived: HashMap<Term, Bounds>,
    /// The facts, to be recognized as they are.
    facts: std::collections::HashSet<Term>,
}

impl Ranges {
    /// Of facts that hold together.
    pub fn of(terms: &Terms, facts: &[Term]) -> Ranges {
        let mut ranges = Ranges { facts: facts.iter().copied().collect(), ..Ranges::default() };
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

    /// Whether a boolean holds under facts and context; None: the solver must be asked.
    pub fn decide(&mut self, terms: &Terms, context: &[Term], claim: Term) -> Option<bool> {
        let mut scope = Scope { ranges: self, context, told: HashMap::new() };
        if !context.is_empty() {
            let mut told: HashMap<Term, Bounds> = HashMap::new();
            for &fact in context {
                learn(terms, fact, &mut |term| scope.ranges.bounds(terms, term), &mut |term, bounds| {
                    let known = told.entry(term).or_insert_with(|| Bounds::full(terms.width(term)));
                    *known = known.and(bounds, terms.width(term));
                });
            }
            if told.values().any(Bounds::is_empty) {
                return None;
            }
            scope.told = told;
        }
        scope.decide(terms, claim, DEPTH)
    }
}

/// The facts together with a context.
struct Scope<'a> {
    ranges: &'a mut Ranges,
    context: &'a [Term],
    told: HashMap<Term, Bounds>,
}

impl Scope<'_> {
    fn bounds(&mut self, terms: &Terms, term: Term, depth: u32) -> Bounds {
        let width = terms.width(term);
        let mut bounds = self.ranges.bounds(terms, term);
        if self.told.is_empty() {
            return bounds;
        }
        if depth > 0 {
            let below = terms.bounds_from(term, &mut |operand| self.bounds(terms, operand, depth - 1));
            bounds = bounds.and(below, width);
        }
        match self.told.get(&term) {
            Some(told) => bounds.and(*told, width),
            None => bounds,
        }
    }

    fn decide(&mut self, terms: &Terms, claim: Term, depth: u32) -> Option<bool> {
        if let Some(value) = terms.as_constant(claim) {
            return Some(value == 1);
        }
        if self.ranges.facts.contains(&claim) || self.context.contains(&claim) {
            return Some(true);
        }
        let depth = depth.checked_sub(1)?;
        match terms.view(claim) {
            View::Not(of) => {
                if let Some(inner) = self.decide(terms, of, depth) {
                    return Some(!inner);
                }
                None
            }
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
                let width = terms.width(a);
                let (left, right) = (self.bounds(terms, a, depth), self.bounds(terms, b, depth));
                if left.is_empty() || right.is_empty() {
                    return None;
                }
                if let Some(known) = compare(op, width, &left, &right) {
                    return Some(known);
                }
                if op == Binary::Eq && self.are_apart(terms, a, b, depth) {
                    return Some(false);
                }
                self.is_denied(terms, claim).then_some(false)
            }
            _ => self.is_denied(terms, claim).then_some(false),
        }
    }

    /// The negation is among the facts or in the context.
    fn is_denied(&self, terms: &Terms, claim: Term) -> bool {
        let denies = |&fact: &Term| matches!(terms.view(fact), View::Not(of) if of == claim);
        self.context.iter().any(denies) || self.ranges.denials(terms, claim)
    }

    /// The exact integer range of `a - b` holds no multiple of 2^width.
    fn are_apart(&mut self, terms: &Terms, a: Term, b: Term, depth: u32) -> bool {
        let width = terms.width(a);
        let (left, right) = (terms.affine(a), terms.affine(b));
        let mut parts = left.parts().to_vec();
        parts.extend(right.parts().iter().map(|&(part, by)| (part, by.wrapping_neg() & mask(width))));
        let constant = left.constant.wrapping_sub(right.constant) & mask(width);
        [false, true].into_iter().any(|as_signed| {
            let range = integer_range(width, &parts, constant, as_signed, &mut |part| {
                self.bounds(terms, part, depth)
            });
            let size = 1i128 << width;
            range.is_some_and(|(low, high)| low.div_euclid(size) == high.div_euclid(size) && low.rem_euclid(size) != 0)
        })
    }
}

impl Ranges {
    fn denials(&self, terms: &Terms, claim: Term) -> bool {
        terms.negation_of(claim).is_some_and(|negation| self.facts.contains(&negation))
    }
}

/// What one fact says of the terms that it compares.
fn learn(
    terms: &Terms,
    fact: Term,
    of: &mut dyn FnMut(Term) -> Bounds,
    tell: &mut dyn FnMut(Term, Bounds),
) {
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
            say(b, Bounds { unsigned: (left.unsigned.0.saturating_add(1).min(mask(width)), mask(width)), ..full });
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
        let (low, high) = (low.wrapping_sub(constant) & mask(width), high.wrapping_sub(constant) & mask(width));
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
