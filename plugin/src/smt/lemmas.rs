//! What is true of multiplications and divisions without computing them. Bit-blasted multipliers and dividers are
//! what makes questions slow, and the proofs that matter here hardly need them: partitions `n*i/p .. n*(i+1)/p`
//! are disjoint because division is monotonic, interleaved indices `id + n*k` because two multiples of `n` are `n`
//! apart. So the solver first sees each product, quotient and remainder as an unknown with the lemmas below; only
//! if that leaves a model that the real operations refute, it sees the operations.
//!
//! A lemma is an implication that is true of all bit-vectors, without its premise where the facts' intervals decide
//! that. (Lemmas about products have the form "if the factors are at most A and B, then ..", with A * B
//! representable; A and B are taken from the intervals.) What remains is often a plain comparison, and chains of
//! these answer questions without the solver.

use super::bits::{mask, signed_max, signed_min, Binary};
use super::ranges::Ranges;
use super::terms::{Term, Terms, View};
use std::collections::{HashMap, HashSet};

/// Pairs of one group of related terms.
const PAIRS: usize = 200;

/// Lemmas about some terms.
#[derive(Clone, Default, Debug)]
pub(super) struct Lemmas {
    /// All true.
    pub claims: Vec<Term>,
    /// Products, quotients and remainders that they speak of, ascending.
    pub about: Vec<Term>,
    /// Right shifts, which are divisions too, but cheap.
    shifts: Vec<Term>,
}

impl Lemmas {
    /// There are operations that lemmas describe but do not define.
    pub fn is_partial(&self) -> bool {
        !self.about.is_empty()
    }

    /// Those that are plain comparisons.
    pub fn comparisons(&self, terms: &Terms) -> Vec<Term> {
        let is_comparison = |&claim: &Term| {
            let inner = match terms.view(claim) {
                View::Not(inner) => inner,
                _ => claim,
            };
            matches!(terms.view(inner), View::Binary(op, _, _) if op.is_comparison())
        };
        self.claims.iter().copied().filter(is_comparison).collect()
    }
}

/// Makes lemmas, each once.
#[derive(Default)]
pub(super) struct Lemmatizer {
    singles: HashMap<Term, Vec<Term>>,
    pairs: HashMap<(Term, Term), Vec<Term>>,
}

/// Terms with a common divisor or a common factor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Group {
    // First: what multiples say decides the premises of quotients.
    Multiples(Term),
    Quotients(Binary, Term),
    /// By how much, and from what width.
    Shifts(u32, u32),
}

impl Lemmatizer {
    /// Lemmas for the operations in these roots. Those that `given` speaks of are taken as known, except for their
    /// relations to the new ones.
    pub fn lemmas(
        &mut self,
        terms: &mut Terms,
        ranges: &mut Ranges,
        roots: &[Term],
        given: Option<&Lemmas>,
    ) -> Lemmas {
        let is_given = |term: &Term| given.is_some_and(|given| given.about.binary_search(term).is_ok());
        let mut seen: HashSet<Term> = HashSet::new();
        let (mut fresh, mut shifts): (Vec<Term>, Vec<Term>) = (Vec::new(), Vec::new());
        let mut open: Vec<Term> = roots.to_vec();
        let mut claims = Vec::new();
        while let Some(next) = open.pop() {
            if !terms.has_operation(next) || !seen.insert(next) {
                continue;
            }
            terms.operands(next, |operand| open.push(operand));
            if is_shift(terms, next) && given.is_none_or(|given| given.shifts.binary_search(&next).is_err()) {
                shifts.push(next);
            }
            if terms.is_nonlinear(next) && !is_given(&next) {
                fresh.push(next);
                let lemmas = self.single(terms, ranges, next);
                // They may speak of further operations.
                open.extend_from_slice(&lemmas);
                claims.extend(lemmas);
            }
        }
        fresh.sort_unstable();
        shifts.sort_unstable();
        let old = given.into_iter().flat_map(|given| given.about.iter().chain(&given.shifts));
        let mut groups: HashMap<Group, (Vec<Term>, Vec<Term>)> = HashMap::new();
        for &term in fresh.iter().chain(&shifts) {
            for group in groups_of(terms, term) {
                groups.entry(group).or_default().0.push(term);
            }
        }
        if !groups.is_empty() {
            for &term in old {
                for group in groups_of(terms, term) {
                    if let Some(members) = groups.get_mut(&group) {
                        members.1.push(term);
                    }
                }
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_unstable();
        let mut apart = Vec::new();
        for (group, (new, old)) in groups {
            let among = (1..new.len()).flat_map(|gap| (gap..new.len()).map(move |at| (at - gap, at)));
            let among: Vec<_> = among.take(PAIRS).map(|(a, b)| (new[a], new[b])).collect();
            let across: Vec<_> =
                new.iter().flat_map(|&a| old.iter().map(move |&b| (a, b))).take(PAIRS).collect();
            for (a, b) in among.into_iter().chain(across) {
                let lemmas = self.pair(terms, ranges, group, &apart, a, b);
                if matches!(group, Group::Multiples(_)) {
                    apart.extend_from_slice(&lemmas);
                }
                claims.extend(lemmas);
            }
        }
        claims.retain(|&claim| terms.as_constant(claim).is_none());
        Lemmas { claims, about: fresh, shifts }
    }

    fn single(&mut self, terms: &mut Terms, ranges: &mut Ranges, term: Term) -> Vec<Term> {
        if let Some(known) = self.singles.get(&term) {
            return known.clone();
        }
        let mut lemmas = known_bounds(terms, term);
        match terms.view(term) {
            View::Product(&[x, y]) => product(terms, ranges, term, x, y, &mut lemmas),
            View::Binary(op, a, by) => division(terms, ranges, op, term, a, by, &mut lemmas),
            _ => {}
        }
        self.singles.insert(term, lemmas.clone());
        lemmas
    }

    fn pair(
        &mut self,
        terms: &mut Terms,
        ranges: &mut Ranges,
        group: Group,
        apart: &[Term],
        a: Term,
        b: Term,
    ) -> Vec<Term> {
        let key = (a.min(b), a.max(b));
        if let Some(known) = self.pairs.get(&key) {
            return known.clone();
        }
        let lemmas = match group {
            Group::Quotients(op, by) => monotonic(terms, ranges, op, by, apart, a, b),
            Group::Multiples(of) => multiples(terms, ranges, of, a, b),
            Group::Shifts(..) => shifted(terms, ranges, apart, a, b),
        };
        self.pairs.insert(key, lemmas.clone());
        lemmas
    }
}

fn groups_of(terms: &Terms, term: Term) -> Vec<Group> {
    match terms.view(term) {
        View::Binary(op @ (Binary::Udiv | Binary::Sdiv), _, by) => vec![Group::Quotients(op, by)],
        View::Product(&[x, y]) if x == y => vec![Group::Multiples(x)],
        View::Product(&[x, y]) => vec![Group::Multiples(x), Group::Multiples(y)],
        View::Extract(of, low) if is_shift(terms, term) => vec![Group::Shifts(low, terms.width(of))],
        _ => Vec::new(),
    }
}

/// A term that lemmas are about.
pub(super) fn is_operation(terms: &Terms, term: Term) -> bool {
    terms.is_nonlinear(term) || is_shift(terms, term)
}

/// The high bits of a term: its quotient by a power of two.
fn is_shift(terms: &Terms, term: Term) -> bool {
    matches!(terms.view(term), View::Extract(of, low) if low > 0 && low + terms.width(term) == terms.width(of))
}

/// `premise` implies `conclusion`; where the facts decide the premise, without it.
fn implied(
    terms: &mut Terms,
    ranges: &mut Ranges,
    context: &[Term],
    premise: Term,
    conclusion: Term,
) -> Term {
    match ranges.decide(terms, context, premise) {
        Some(true) => conclusion,
        Some(false) => terms.boolean(true),
        None => terms.implies(premise, conclusion),
    }
}

/// The interval that comparisons were simplified with: to the solver it is news. Made without simplification.
fn known_bounds(terms: &mut Terms, term: Term) -> Vec<Term> {
    let width = terms.width(term);
    let bounds = terms.bounds(term);
    let mut lemmas = Vec::new();
    let mut below = |terms: &mut Terms, op, bound: u64, holds: bool| {
        let bound = terms.constant(width, bound);
        let claim = terms.intern(1, View::Binary(op, term, bound));
        lemmas.push(if holds { claim } else { terms.not(claim) });
    };
    if bounds.unsigned.1 < mask(width) {
        below(terms, Binary::Ult, bounds.unsigned.1 + 1, true);
    }
    if bounds.unsigned.0 > 0 {
        below(terms, Binary::Ult, bounds.unsigned.0, false);
    }
    if bounds.signed.1 < signed_max(width) {
        below(terms, Binary::Slt, (bounds.signed.1 + 1) as u64, true);
    }
    if bounds.signed.0 > signed_min(width) {
        below(terms, Binary::Slt, bounds.signed.0 as u64, false);
    }
    lemmas
}

fn division(
    terms: &mut Terms,
    ranges: &mut Ranges,
    op: Binary,
    term: Term,
    a: Term,
    by: Term,
    lemmas: &mut Vec<Term>,
) {
    let width = terms.width(term);
    let (zero, one) = (terms.constant(width, 0), terms.constant(width, 1));
    let is_signed = matches!(op, Binary::Sdiv | Binary::Srem);
    // Where the dividend is natural and the divisor positive, signed and unsigned division are the same.
    let (natural, positive) = if is_signed {
        (terms.sge(a, zero), terms.sgt(by, zero))
    } else {
        (terms.boolean(true), terms.ne(by, zero))
    };
    let usual = terms.both(natural, positive);
    let negative = terms.not(natural);
    let negative = terms.both(negative, positive);
    let less = terms.ult(a, by);
    let small = terms.both(usual, less);
    let mut say = |terms: &mut Terms, premise, conclusion| {
        lemmas.push(implied(terms, ranges, &[], premise, conclusion));
    };
    match op {
        Binary::Udiv | Binary::Sdiv => {
            let bounded = terms.ule(term, a);
            say(terms, usual, bounded);
            let is_zero = terms.eq(term, zero);
            say(terms, small, is_zero);
            let enough = terms.not(less);
            let enough = terms.both(usual, enough);
            let is_some = terms.ne(term, zero);
            say(terms, enough, is_some);
            let (by_one, same) = (terms.eq(by, one), terms.eq(term, a));
            say(terms, by_one, same);
            let not_one = terms.not(by_one);
            let not_one = terms.both(usual, not_one);
            let half = terms.lshr(a, one);
            let halved = terms.ule(term, half);
            say(terms, not_one, halved);
            if is_signed {
                let (above, below) = (terms.sge(term, a), terms.sle(term, zero));
                let between = terms.both(above, below);
                say(terms, negative, between);
            }
        }
        _ => {
            let (below, bounded) = (terms.ult(term, by), terms.ule(term, a));
            say(terms, usual, below);
            say(terms, usual, bounded);
            let same = terms.eq(term, a);
            say(terms, small, same);
            if is_signed {
                let opposite = terms.sub(zero, by);
                let (above, below) = (terms.sgt(term, opposite), terms.sle(term, zero));
                let between = terms.both(above, below);
                say(terms, negative, between);
            }
            // a == by * quotient + remainder, also where `by` is 0.
            let quotient = if is_signed { terms.sdiv(a, by) } else { terms.udiv(a, by) };
            let product = terms.mul(quotient, by);
            let whole = terms.add(product, term);
            lemmas.push(terms.eq(whole, a));
        }
    }
}

/// `a <= b` keeps its sense when both are divided by the same.
fn monotonic(
    terms: &mut Terms,
    ranges: &mut Ranges,
    op: Binary,
    by: Term,
    apart: &[Term],
    one: Term,
    other: Term,
) -> Vec<Term> {
    let (View::Binary(_, a, _), View::Binary(_, b, _)) = (terms.view(one), terms.view(other)) else {
        return Vec::new();
    };
    let zero = terms.constant(terms.width(by), 0);
    let mut lemmas = Vec::new();
    for (a, b, one, other) in [(a, b, one, other), (b, a, other, one)] {
        if op == Binary::Udiv {
            let (before, after) = (terms.ule(a, b), terms.ule(one, other));
            lemmas.push(implied(terms, ranges, apart, before, after));
        } else {
            let (before, after) = (terms.sle(a, b), terms.sle(one, other));
            let positive = terms.sgt(by, zero);
            let before = terms.both(before, positive);
            lemmas.push(implied(terms, ranges, apart, before, after));
        }
    }
    lemmas
}

/// The same for right shifts. Only where the facts decide it: the solver needs no help with shifts.
fn shifted(terms: &mut Terms, ranges: &mut Ranges, apart: &[Term], one: Term, other: Term) -> Vec<Term> {
    let (View::Extract(a, _), View::Extract(b, _)) = (terms.view(one), terms.view(other)) else {
        return Vec::new();
    };
    let mut lemmas = Vec::new();
    for (a, b, one, other) in [(a, b, one, other), (b, a, other, one)] {
        let before = terms.ule(a, b);
        if ranges.decide(terms, apart, before) == Some(true) {
            lemmas.push(terms.ule(one, other));
        }
    }
    lemmas
}

/// Bounds for two factors whose product does not wrap, as wide as the facts need.
fn limits(ranges: &mut Ranges, terms: &Terms, x: &[Term], y: &[Term]) -> (u64, u64) {
    let width = terms.width(x[0]);
    let all = mask(width);
    let mut most =
        |of: &[Term]| of.iter().map(|&term| ranges.bounds(terms, term).unsigned.1).max().unwrap_or(all);
    let (a, b) = (most(x).max(1), most(y).max(1));
    let half = mask(width.div_ceil(2).min(width - 1));
    match u128::from(a) * u128::from(b) <= u128::from(all) {
        true => (a, b),
        // The one with the better bound keeps it.
        false if a <= half && a <= b => (a, all / a),
        false if b <= half => (all / b, b),
        false => (half, all / half),
    }
}

fn at_most(terms: &mut Terms, term: Term, most: u64) -> Term {
    let most = terms.constant(terms.width(term), most);
    terms.ule(term, most)
}

fn product(terms: &mut Terms, ranges: &mut Ranges, term: Term, x: Term, y: Term, lemmas: &mut Vec<Term>) {
    let width = terms.width(term);
    let (zero, one) = (terms.constant(width, 0), terms.constant(width, 1));
    let (a, b) = limits(ranges, terms, &[x], &[y]);
    let (x_fits, y_fits) = (at_most(terms, x, a), at_most(terms, y, b));
    let fits = terms.both(x_fits, y_fits);
    let bounded = at_most(terms, term, a * b);
    lemmas.push(implied(terms, ranges, &[], fits, bounded));
    for (factor, other) in [(x, y), (y, x)] {
        let is_zero = terms.eq(factor, zero);
        let nothing = terms.eq(term, zero);
        lemmas.push(implied(terms, ranges, &[], is_zero, nothing));
        let is_one = terms.eq(factor, one);
        let same = terms.eq(term, other);
        lemmas.push(implied(terms, ranges, &[], is_one, same));
        let not_zero = terms.ne(factor, zero);
        let grows = terms.both(fits, not_zero);
        let at_least = terms.uge(term, other);
        lemmas.push(implied(terms, ranges, &[], grows, at_least));
    }
}

/// Multiples of one factor are as far apart as that factor at least.
fn multiples(terms: &mut Terms, ranges: &mut Ranges, of: Term, one: Term, other: Term) -> Vec<Term> {
    let rest = |terms: &Terms, term| match terms.view(term) {
        View::Product(&[x, y]) if x == of => Some(y),
        View::Product(&[x, y]) if y == of => Some(x),
        _ => None,
    };
    let (Some(i), Some(j)) = (rest(terms, one), rest(terms, other)) else { return Vec::new() };
    let (a, b) = limits(ranges, terms, &[of], &[i, j]);
    let fits = [at_most(terms, of, a), at_most(terms, i, b), at_most(terms, j, b)];
    let fits = terms.all(&fits);
    let mut lemmas = Vec::new();
    for (i, j, one, other) in [(i, j, one, other), (j, i, other, one)] {
        let less = terms.ult(i, j);
        let less = terms.both(fits, less);
        let next = terms.add(one, of);
        let apart = terms.ule(next, other);
        lemmas.push(implied(terms, ranges, &[], less, apart));
    }
    let (same, equal) = (terms.eq(i, j), terms.eq(one, other));
    lemmas.push(implied(terms, ranges, &[], same, equal));
    lemmas
}
