//! Answers without a solver: the intervals that facts and a question's context give to terms, carried upwards by
//! the rules of `bounds.rs`, and linear inequalities (`linear.rs`). Most alias questions end here: the distance
//! of two addresses is a short sum, and its interval is apart from zero.

use super::bits::{mask, signed, signed_max, signed_min, Binary};
use super::bounds::{compare, Bounds};
use super::linear::{line, lines, regrouped, residue, Bounder, Inequalities, Line};
use super::terms::{Term, Terms, View};
use std::collections::{HashMap, HashSet};

/// How often comparisons of two unknowns are looked at again.
const PASSES: usize = 3;
/// How far below a term a context is looked for.
const DEPTH: u32 = 4;
/// Multiples of 2^width that a sum is compared with.
const ROUNDS: i128 = 8;

/// What facts say of single terms.
#[derive(Default)]
pub(super) struct Ranges {
    /// From the facts directly.
    told: HashMap<Term, Bounds>,
    /// Derived, for terms that were asked about.
    derived: HashMap<Term, Bounds>,
    /// The facts, to be recognized as they are.
    facts: HashSet<Term>,
    inequalities: Inequalities,
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
        let mut known = std::mem::take(&mut self.inequalities);
        for &fact in facts {
            lines(terms, fact, &mut |term| self.bounds(terms, term), &mut |line| known.add(line));
            self.facts.insert(fact);
        }
        self.inequalities = known;
    }

    /// Whether a boolean holds under facts and context; None: the solver must be asked.
    pub fn decide(&mut self, terms: &Terms, context: &[Term], claim: Term) -> Option<bool> {
        if let Some(value) = terms.as_constant(claim) {
            return Some(value == 1);
        }
        let mut scope = Scope::new(self, context);
        if !scope.learn(terms) {
            return None;
        }
        scope.decide(terms, claim, DEPTH)
    }

    /// The claim holds in each of the cases that alternatives leave: of each alternative one case is true.
    pub fn holds_in_all_cases(
        &mut self,
        terms: &Terms,
        context: &mut Vec<Term>,
        claim: Term,
        alternatives: &[Vec<Vec<Term>>],
    ) -> bool {
        let mut scope = Scope::new(self, context);
        // A case that contradicts the facts cannot occur.
        if !scope.learn(terms) || scope.decide(terms, claim, DEPTH) == Some(true) {
            return true;
        }
        let Some((first, rest)) = alternatives.split_first() else { return false };
        first.iter().all(|case| {
            let before = context.len();
            context.extend_from_slice(case);
            let holds = self.holds_in_all_cases(terms, context, claim, rest);
            context.truncate(before);
            holds
        })
    }
}

/// The facts together with a context.
struct Scope<'a> {
    ranges: &'a mut Ranges,
    context: &'a [Term],
    told: HashMap<Term, Bounds>,
    lines: Vec<Line>,
    /// Bounds under the context, and how deep it was looked for.
    done: HashMap<Term, (u32, Bounds)>,
}

impl<'a> Scope<'a> {
    fn new(ranges: &'a mut Ranges, context: &'a [Term]) -> Scope<'a> {
        Scope { ranges, context, told: HashMap::new(), lines: Vec::new(), done: HashMap::new() }
    }

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
            lines(terms, fact, &mut |term| self.bounds(terms, term, 2), &mut |line| found.push(line));
            self.lines.append(&mut found);
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
        let known = self.ranges.bounds(terms, term);
        let mut bounds = known;
        if depth > 0 {
            let below = terms.bounds_from(term, &mut |operand| self.bounds(terms, operand, depth - 1));
            bounds = bounds.and(below, width);
        }
        if let Some(told) = self.told.get(&term) {
            bounds = bounds.and(*told, width);
        }
        // A contradictory context is for the solver.
        let bounds = if bounds.is_empty() { known } else { bounds };
        self.done.insert(term, (depth, bounds));
        bounds
    }

    /// The range of a sum.
    fn range(&mut self, terms: &Terms, line: &Line, depth: u32) -> Option<(i128, i128)> {
        let known = std::mem::take(&mut self.ranges.inequalities);
        let more = std::mem::take(&mut self.lines);
        let bounder = Bounder { known: &known, more: &more };
        let range = bounder.range(line, &mut |term| self.bounds(terms, term, depth));
        (self.ranges.inequalities, self.lines) = (known, more);
        range.filter(|(low, high)| low <= high)
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
        let (left, right) = (self.bounds(terms, a, depth), self.bounds(terms, b, depth));
        if left.is_empty() || right.is_empty() {
            return None;
        }
        if let Some(known) = compare(op, width, &left, &right) {
            return Some(known);
        }
        for is_signed in [true, false] {
            let as_ordered = op == Binary::Slt && is_signed || op == Binary::Ult && !is_signed;
            if op == Binary::Eq && self.never_meet(terms, a, b, is_signed, depth) == Some(true) {
                return Some(false);
            }
            if op == Binary::Eq || as_ordered {
                let mut of = |term| self.bounds(terms, term, depth);
                let less = line(terms, &mut of, a, is_signed);
                let gap = line(terms, &mut of, b, is_signed).plus(&less, -1)?;
                match (op, self.range(terms, &gap, depth)) {
                    (Binary::Eq, Some((low, high))) if low > 0 || high < 0 => return Some(false),
                    (Binary::Ult | Binary::Slt, Some((low, _))) if low > 0 => return Some(true),
                    (Binary::Ult | Binary::Slt, Some((_, high))) if high <= 0 => return Some(false),
                    _ => {}
                }
            }
        }
        match (op, terms.as_constant(b)) {
            (Binary::Ult, Some(bound)) => [true, false]
                .into_iter()
                .find_map(|is_signed| self.decide_below(terms, a, bound, is_signed, depth)),
            _ => None,
        }
    }

    /// Their difference is no multiple of 2^width.
    fn never_meet(&mut self, terms: &Terms, a: Term, b: Term, is_signed: bool, depth: u32) -> Option<bool> {
        let mut of = |term| self.bounds(terms, term, depth);
        let other = residue(terms, &mut of, b, is_signed)?;
        let gap = residue(terms, &mut of, a, is_signed)?.plus(&other, -1)?;
        let (low, high) = self.range(terms, &gap, depth)?;
        let size = 1i128 << terms.width(a);
        // Rounded up and down to multiples.
        let (first, last) = (-(-low).div_euclid(size), high.div_euclid(size));
        if last - first > ROUNDS {
            return None;
        }
        let step = gap.step();
        Some((first..=last).all(|round| (round * size - gap.constant).rem_euclid(step) != 0))
    }

    /// Whether a sum is below a constant, unsigned, by its range and its remainder modulo its coefficients.
    fn decide_below(
        &mut self,
        terms: &Terms,
        sum: Term,
        bound: u64,
        is_signed: bool,
        depth: u32,
    ) -> Option<bool> {
        let mut of = |term| self.bounds(terms, term, depth);
        let plain = residue(terms, &mut of, sum, is_signed)?;
        if let Some(known) = self.decide_line_below(terms, &plain, terms.width(sum), bound, depth) {
            return Some(known);
        }
        let lines = std::mem::take(&mut self.lines);
        let mut of = |term| self.bounds(terms, term, depth);
        let others = regrouped(terms, &mut of, sum, is_signed, &lines);
        self.lines = lines;
        let mut others = others.iter();
        others.find_map(|line| self.decide_line_below(terms, line, terms.width(sum), bound, depth))
    }

    /// The same of an integer that is the sum modulo 2^width.
    fn decide_line_below(
        &mut self,
        terms: &Terms,
        line: &Line,
        width: u32,
        bound: u64,
        depth: u32,
    ) -> Option<bool> {
        let (low, high) = self.range(terms, line, depth)?;
        let size = 1i128 << width;
        let bound = i128::from(bound);
        let rounds = low.div_euclid(size)..=high.div_euclid(size);
        if rounds.end() - rounds.start() > ROUNDS {
            return None;
        }
        let step = line.step();
        let meets = |from: i128, to: i128| {
            rounds.clone().any(|round| {
                let (from, to) = ((from + round * size).max(low), (to + round * size).min(high));
                from + (line.constant - from).rem_euclid(step) <= to
            })
        };
        match (meets(0, bound - 1), meets(bound, size - 1)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    }

    /// The negation is among the facts or in the context.
    fn is_denied(&self, terms: &Terms, claim: Term) -> bool {
        terms
            .negation_of(claim)
            .is_some_and(|negation| self.ranges.facts.contains(&negation) || self.context.contains(&negation))
    }
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
            chosen(terms, term, bounds.and(of(term), width), of, tell);
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

/// A choice of which one way is not in the interval: it goes the other way.
fn chosen(
    terms: &Terms,
    term: Term,
    bounds: Bounds,
    of: &mut dyn FnMut(Term) -> Bounds,
    tell: &mut dyn FnMut(Term, Bounds),
) {
    let View::Ite(condition, a, b) = terms.view(term) else { return };
    let width = terms.width(term);
    let [no_a, no_b] = [a, b].map(|way| bounds.and(of(way), width).is_empty());
    let mut go = |way: Term, is_true: bool| {
        if terms.as_constant(way).is_none() {
            tell(way, bounds);
        }
        tell(condition, Bounds::exactly(1, u64::from(is_true)));
    };
    match (no_a, no_b) {
        (true, false) => go(b, false),
        (false, true) => go(a, true),
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
