//! Linear inequalities over integers. `i < c`, `c + k < 2*c`, a counter that is at most `hi - lo`: each says that a sum
//! of integers is not negative. To bound another sum from below, multiples of such are taken from it, so that what it
//! is not bounded by goes out (a few steps of Fourier and Motzkin's elimination, as far as a short search goes).
//!
//! An atom is a term read as a signed or as an unsigned integer. Sums that do not wrap, changes of width that keep the
//! value and low bits that are all of a value are looked through, so that what is said of a 32-bit index serves the
//! 64-bit address that is computed from it.

use super::bits::{mask, signed, signed_max, signed_min, Binary};
use super::bounds::{integer_range, Bounds};
use super::terms::{Term, Terms, View};
use std::collections::{HashMap, HashSet, VecDeque};

/// How deep sums within sums are looked through.
const NESTED: u32 = 6;
/// Atoms of a sum that is looked at.
const ATOMS: usize = 12;
/// Inequalities that are used after each other.
const DEPTH: u32 = 5;
/// Inequalities about one atom that are tried.
const TRIED: usize = 10;
/// Ways to regroup a sum that are tried.
const REGROUPED: usize = 8;
/// Sums that a search looks at.
const SUMS: usize = 120;

/// A term read as an integer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Atom {
    pub term: Term,
    pub is_signed: bool,
}

/// What is known of single terms.
pub(super) type Of<'a> = &'a mut dyn FnMut(Term) -> Bounds;

/// `sum(coefficient * atom) + constant`, an integer.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Line {
    /// Ascending, no coefficient 0.
    pub parts: Vec<(Atom, i128)>,
    pub constant: i128,
}

impl Line {
    /// `self + by * other`; None: beyond what 128 bits hold.
    pub fn plus(&self, other: &Line, by: i128) -> Option<Line> {
        let mut parts = Vec::with_capacity(self.parts.len() + other.parts.len());
        let (mut left, mut right) = (self.parts.iter().peekable(), other.parts.iter().peekable());
        loop {
            let (atom, coefficient) = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(&&one), None) => {
                    left.next();
                    one
                }
                (Some(&&one), Some(&&two)) if one.0 < two.0 => {
                    left.next();
                    one
                }
                (Some(&&one), Some(&&two)) if one.0 == two.0 => {
                    left.next();
                    right.next();
                    (one.0, one.1.checked_add(two.1.checked_mul(by)?)?)
                }
                (_, Some(&&two)) => {
                    right.next();
                    (two.0, two.1.checked_mul(by)?)
                }
            };
            if coefficient != 0 {
                parts.push((atom, coefficient));
            }
        }
        Some(Line { parts, constant: self.constant.checked_add(other.constant.checked_mul(by)?)? })
    }

    /// What intervals say of it.
    fn interval(&self, of: Of<'_>) -> Option<(i128, i128)> {
        let (mut low, mut high) = (self.constant, self.constant);
        for &(atom, by) in &self.parts {
            let (least, most) = interval(atom, of);
            let (one, two) = (by.checked_mul(least)?, by.checked_mul(most)?);
            low = low.checked_add(one.min(two))?;
            high = high.checked_add(one.max(two))?;
        }
        Some((low, high))
    }

    /// The greatest number that divides all coefficients.
    pub fn step(&self) -> i128 {
        let mut factor = 0i128;
        for &(_, by) in &self.parts {
            let mut by = by;
            while by != 0 {
                (factor, by) = (by, factor % by);
            }
        }
        factor.abs().max(1)
    }
}

fn interval(atom: Atom, of: Of<'_>) -> (i128, i128) {
    let bounds = of(atom.term);
    match atom.is_signed {
        true => (bounds.signed.0.into(), bounds.signed.1.into()),
        false => (bounds.unsigned.0.into(), bounds.unsigned.1.into()),
    }
}

/// The integer that a term is, in one reading. Exact.
pub(super) fn line(terms: &Terms, of: Of<'_>, term: Term, is_signed: bool) -> Line {
    let mut whole = Line::default();
    let whole_of = Atom { term, is_signed };
    match collect(terms, of, whole_of, 1, NESTED, &mut whole) {
        Some(()) if whole.parts.len() <= ATOMS => merged(whole),
        _ => Line { parts: vec![(canonical(of, whole_of), 1)], constant: 0 },
    }
}

/// The sum of terms times coefficients plus a constant modulo 2^width, as an integer of the same remainder.
pub(super) fn residue(terms: &Terms, of: Of<'_>, sum: Term, is_signed: bool) -> Option<Line> {
    let affine = terms.affine(sum);
    residue_of(terms, of, terms.width(sum), (affine.parts(), affine.constant), is_signed)
}

fn residue_of(
    terms: &Terms,
    of: Of<'_>,
    width: u32,
    (parts, constant): (&[(Term, u64)], u64),
    is_signed: bool,
) -> Option<Line> {
    let mut whole = Line { parts: Vec::new(), constant: signed(width, constant).into() };
    for &(part, by) in parts {
        let atom = Atom { term: part, is_signed };
        collect(terms, of, atom, signed(width, by).into(), NESTED, &mut whole)?;
    }
    (whole.parts.len() <= ATOMS).then(|| merged(whole))
}

/// Other integers of the same remainder: with sums in it that inequalities are about as they stand, since nobody knows that
/// they do not wrap. `lo + k < hi` says more of `lo + k` than of `lo` and `k` then.
pub(super) fn regrouped(
    terms: &Terms,
    of: Of<'_>,
    sum: Term,
    is_signed: bool,
    inequalities: &[Line],
) -> Vec<Line> {
    let (width, count) = (terms.width(sum), terms.affine(sum).parts().len());
    let atoms = inequalities.iter().flat_map(|line| &line.parts).map(|&(atom, _)| atom);
    let is_whole = |atom: &Atom| {
        let parts = terms.affine(atom.term).parts().len();
        terms.width(atom.term) == width && (2..=count).contains(&parts)
    };
    let mut wholes: Vec<Atom> = atoms.filter(is_whole).collect();
    wholes.sort_unstable();
    wholes.dedup();
    let mut found = Vec::new();
    let mut take = |wholes: &[(Atom, i128)], of: Of<'_>| {
        let less: Vec<(Term, u64)> = wholes.iter().map(|&(whole, by)| (whole.term, by as u64)).collect();
        let (parts, constant) = terms.without(sum, &less);
        if found.len() < REGROUPED && parts.len() + wholes.len() < count {
            if let Some(mut line) = residue_of(terms, of, width, (&parts, constant), is_signed) {
                line.parts.extend_from_slice(wholes);
                found.push(merged(line));
            }
        }
    };
    for (at, &one) in wholes.iter().enumerate() {
        take(&[(one, 1)], of);
        take(&[(one, -1)], of);
        for &other in &wholes[at + 1..] {
            take(&[(one, 1), (other, -1)], of);
            take(&[(one, -1), (other, 1)], of);
        }
    }
    found
}

/// Both readings of a natural number are one.
fn canonical(of: Of<'_>, atom: Atom) -> Atom {
    Atom { is_signed: atom.is_signed || of(atom.term).is_natural(), ..atom }
}

fn merged(mut line: Line) -> Line {
    line.parts.sort_unstable();
    line.parts.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    line.parts.retain(|&(_, by)| by != 0);
    line
}

/// Adds `by` times the atom to a line.
fn collect(terms: &Terms, of: Of<'_>, atom: Atom, by: i128, nested: u32, line: &mut Line) -> Option<()> {
    let atom = canonical(of, atom);
    let width = terms.width(atom.term);
    let inner = |term, is_signed| Atom { term, is_signed };
    let below = nested.checked_sub(1);
    match (terms.view(atom.term), below) {
        (View::Constant(value), _) => {
            let value = if atom.is_signed { signed(width, value).into() } else { i128::from(value) };
            line.constant = line.constant.checked_add(by.checked_mul(value)?)?;
            return Some(());
        }
        (View::Zext(of_term), Some(nested)) => {
            return collect(terms, of, inner(of_term, false), by, nested, line);
        }
        (View::Sext(of_term), Some(nested)) if atom.is_signed => {
            return collect(terms, of, inner(of_term, true), by, nested, line);
        }
        (View::Extract(of_term, 0), Some(nested)) => {
            // All of a small number.
            let most = if atom.is_signed { signed_max(width) as u64 } else { mask(width) };
            if of(of_term).unsigned.1 <= most {
                return collect(terms, of, inner(of_term, false), by, nested, line);
            }
        }
        (View::Sum(parts, constant), Some(nested)) => {
            if let Some(as_signed) = exact_reading(terms, of, atom) {
                let more = by.checked_mul(signed(width, constant).into())?;
                line.constant = line.constant.checked_add(more)?;
                for &(part, times) in parts {
                    let times = by.checked_mul(signed(width, times).into())?;
                    collect(terms, of, inner(part, as_signed), times, nested, line)?;
                }
                return Some(());
            }
        }
        _ => {}
    }
    line.parts.push((atom, by));
    (line.parts.len() <= 2 * ATOMS).then_some(())
}

/// How to read a sum's parts, so that their sum as integers is the atom.
fn exact_reading(terms: &Terms, of: Of<'_>, atom: Atom) -> Option<bool> {
    let width = terms.width(atom.term);
    let sum = terms.affine(atom.term);
    let allowed = if atom.is_signed {
        (i128::from(signed_min(width)), i128::from(signed_max(width)))
    } else {
        (0, i128::from(mask(width)))
    };
    [atom.is_signed, !atom.is_signed].into_iter().find(|&as_signed| {
        let range = integer_range(width, sum.parts(), sum.constant, as_signed, of);
        range.is_some_and(|(low, high)| low >= allowed.0 && high <= allowed.1)
    })
}

/// Lines that a fact says are not negative.
pub(super) fn lines(terms: &Terms, fact: Term, of: Of<'_>, tell: &mut dyn FnMut(Line)) {
    let (holds, claim) = match terms.view(fact) {
        View::Not(inner) => (false, inner),
        _ => (true, fact),
    };
    let View::Binary(op, a, b) = terms.view(claim) else { return };
    if !op.is_comparison() {
        return;
    }
    let mut say = |lesser: Term, greater: Term, by: i128, is_signed: bool| {
        let less = line(terms, of, lesser, is_signed);
        let gap = line(terms, of, greater, is_signed).plus(&less, -1);
        if let Some(mut gap) = gap.filter(|gap| gap.parts.len() > 1) {
            gap.constant -= by;
            tell(gap);
        }
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

/// Lines that are not negative, by the atoms in them.
#[derive(Default)]
pub(super) struct Inequalities {
    lines: Vec<Line>,
    with: HashMap<Atom, Vec<usize>>,
}

impl Inequalities {
    pub fn add(&mut self, line: Line) {
        let number = self.lines.len();
        for &(atom, _) in &line.parts {
            self.with.entry(atom).or_default().push(number);
        }
        self.lines.push(line);
    }

    fn about(&self, atom: Atom) -> impl Iterator<Item = &Line> {
        self.with.get(&atom).into_iter().flatten().map(|&number| &self.lines[number])
    }
}

/// Searches for bounds of sums.
pub(super) struct Bounder<'a> {
    /// Of the facts.
    pub known: &'a Inequalities,
    /// Of the context.
    pub more: &'a [Line],
}

impl Bounder<'_> {
    /// The range of a sum.
    pub fn range(&self, line: &Line, of: Of<'_>) -> Option<(i128, i128)> {
        let low = self.lower(line.clone(), of)?;
        let negative = Line::default().plus(line, -1)?;
        let high = self.lower(negative, of)?.checked_neg()?;
        Some((low, high))
    }

    /// A lower bound: the best of all sums that are not greater and that a short search finds.
    fn lower(&self, line: Line, of: Of<'_>) -> Option<i128> {
        let mut best = line.interval(of)?.0;
        let mut seen: HashSet<Line> = HashSet::from([line.clone()]);
        let mut open: VecDeque<(Line, u32)> = VecDeque::from([(line, DEPTH)]);
        while let Some((line, depth)) = open.pop_front() {
            for &(atom, by) in &line.parts {
                for known in self.known.about(atom).take(TRIED).chain(self.more) {
                    let Some(&(_, times)) = known.parts.iter().find(|&&(other, _)| other == atom) else {
                        continue;
                    };
                    // line - by / times * known, in which the atom is not: what is taken away is not negative.
                    if by % times != 0 || by / times < 0 {
                        continue;
                    }
                    let Some(less) = line.plus(known, -(by / times)) else { continue };
                    if less.parts.len() > line.parts.len() + 1 || seen.contains(&less) {
                        continue;
                    }
                    if let Some((found, _)) = less.interval(of) {
                        best = best.max(found);
                    }
                    if seen.len() >= SUMS {
                        return Some(best);
                    }
                    seen.insert(less.clone());
                    if depth > 1 {
                        open.push_back((less, depth - 1));
                    }
                }
            }
        }
        Some(best)
    }
}
