//! Sums and products. A sum is kept as coefficients modulo 2^width of ascending parts, plus a constant, so that
//! equal addresses are the same term and the distance of two addresses is read off. Products are distributed over
//! short sums (`n * (i + 1)` is `n * i + n`) and flattened, for the same reason.

use super::bits::mask;
use super::terms::{Term, Terms, View};

/// A sum with more parts keeps its operands whole: chains of additions would otherwise take quadratic space.
const MOST_PARTS: usize = 24;
/// A product with more factors keeps its operands whole.
const MOST_FACTORS: usize = 4;
/// Products of sums with more products of parts than this stay products: each is a multiplier in the solver.
const MOST_DISTRIBUTED: usize = 4;

/// Parts of a sum, and what is added.
pub(super) type Parts = (Vec<(Term, u64)>, u64);

/// A term as a sum; what is none is a sum of itself.
pub(super) struct Affine<'a> {
    itself: [(Term, u64); 1],
    parts: Option<&'a [(Term, u64)]>,
    /// What is added.
    pub constant: u64,
}

impl Affine<'_> {
    /// Parts with their coefficients.
    pub fn parts(&self) -> &[(Term, u64)] {
        self.parts.unwrap_or(&self.itself)
    }
}

impl Terms {
    pub(super) fn affine(&self, term: Term) -> Affine<'_> {
        let (parts, constant) = match self.view(term) {
            View::Constant(value) => (Some(&[][..]), value),
            View::Sum(parts, constant) => (Some(parts), constant),
            _ => (None, 0),
        };
        Affine { itself: [(term, 1)], parts, constant }
    }

    /// `a - b` modulo 2^width, where everything but a constant cancels.
    pub fn difference(&self, a: Term, b: Term) -> Option<u64> {
        if a == b {
            return Some(0);
        }
        if self.width(a) != self.width(b) {
            return None;
        }
        let (left, right) = (self.affine(a), self.affine(b));
        let same = left.parts() == right.parts();
        same.then(|| left.constant.wrapping_sub(right.constant) & mask(self.width(a)))
    }

    /// A sum's parts and constant, after these terms times their coefficients were taken away.
    pub(super) fn without(&self, sum: Term, less: &[(Term, u64)]) -> Parts {
        let width = self.width(sum);
        let affine = self.affine(sum);
        let (mut parts, mut constant) = (affine.parts().to_vec(), affine.constant);
        for &(term, by) in less {
            let other = self.affine(term);
            constant = constant.wrapping_sub(other.constant.wrapping_mul(by));
            parts.extend(
                other.parts().iter().map(|&(part, times)| (part, times.wrapping_mul(by).wrapping_neg())),
            );
        }
        merge(&mut parts, mask(width));
        (parts, constant & mask(width))
    }

    /// `sum(coefficient * term) + constant`.
    pub(super) fn linear(&mut self, width: u32, items: &[(Term, u64)], constant: u64) -> Term {
        let all = mask(width);
        if width == 1 {
            // Modulo two, a sum is an exclusive or.
            let mut sum = self.constant(1, constant);
            for &(term, coefficient) in items {
                if coefficient & 1 == 1 {
                    sum = self.xor(sum, term);
                }
            }
            return sum;
        }
        let mut parts = std::mem::take(&mut self.scratch);
        let mut whole = constant;
        for &(term, by) in items {
            let affine = self.affine(term);
            whole = whole.wrapping_add(affine.constant.wrapping_mul(by));
            parts.extend(affine.parts().iter().map(|&(part, times)| (part, times.wrapping_mul(by))));
        }
        merge(&mut parts, all);
        if parts.len() > MOST_PARTS && items.len() < parts.len() {
            parts.clear();
            whole = constant;
            for &(term, by) in items {
                match self.as_constant(term) {
                    Some(value) => whole = whole.wrapping_add(value.wrapping_mul(by)),
                    None => parts.push((term, by)),
                }
            }
            merge(&mut parts, all);
        }
        let whole = whole & all;
        let chosen = self.one_way_constant(width, &parts, whole);
        let term = match (&parts[..], chosen) {
            (_, Some((condition, yes, no))) => {
                parts.clear();
                self.scratch = parts;
                let yes = self.linear(width, &yes.0, yes.1);
                let no = self.linear(width, &no.0, no.1);
                return self.ite(condition, yes, no);
            }
            ([], _) => self.constant(width, whole),
            (&[(only, 1)], _) if whole == 0 => only,
            _ => self.intern(width, View::Sum(&parts, whole)),
        };
        parts.clear();
        self.scratch = parts;
        term
    }

    /// A sum with a choice in it that is a constant if one way is chosen: `max(a, b) - a` is `b - a` or 0. As a choice of
    /// sums it says how far the one is beyond the other, which is what loops count to.
    fn one_way_constant(
        &self,
        width: u32,
        parts: &[(Term, u64)],
        constant: u64,
    ) -> Option<(Term, Parts, Parts)> {
        if parts.len() < 2 || parts.len() > 4 {
            return None;
        }
        parts.iter().find_map(|&(choice, by)| {
            let View::Ite(condition, a, b) = self.view(choice) else { return None };
            let with = |way: Term| {
                let affine = self.affine(way);
                let mut sum: Vec<(Term, u64)> =
                    parts.iter().copied().filter(|part| part.0 != choice).collect();
                sum.extend(affine.parts().iter().map(|&(part, times)| (part, times.wrapping_mul(by))));
                merge(&mut sum, mask(width));
                (sum, affine.constant.wrapping_mul(by).wrapping_add(constant))
            };
            let (yes, no) = (with(a), with(b));
            (yes.0.is_empty() || no.0.is_empty()).then_some((condition, yes, no))
        })
    }

    /// `a * b`, both of more than one bit.
    pub(super) fn product(&mut self, width: u32, a: Term, b: Term) -> Term {
        if let Some(by) = self.as_constant(a) {
            return self.linear(width, &[(b, by)], 0);
        }
        if let Some(by) = self.as_constant(b) {
            return self.linear(width, &[(a, by)], 0);
        }
        let (left, right) = (self.affine(a), self.affine(b));
        if left.parts().len() * right.parts().len() > MOST_DISTRIBUTED {
            return self.monomial(width, a, b);
        }
        let (one, other) = (left.parts().to_vec(), right.parts().to_vec());
        let (plus_one, plus_other) = (left.constant, right.constant);
        let mut items = Vec::with_capacity(one.len() * other.len() + one.len() + other.len());
        for &(x, times_x) in &one {
            for &(y, times_y) in &other {
                items.push((self.monomial(width, x, y), times_x.wrapping_mul(times_y)));
            }
        }
        items.extend(one.iter().map(|&(x, times)| (x, times.wrapping_mul(plus_other))));
        items.extend(other.iter().map(|&(y, times)| (y, times.wrapping_mul(plus_one))));
        self.linear(width, &items, plus_one.wrapping_mul(plus_other))
    }

    /// The product of two terms that are no constants.
    fn monomial(&mut self, width: u32, a: Term, b: Term) -> Term {
        // A boolean as a number times x is x or nothing.
        for (flag, other) in [(a, b), (b, a)] {
            if let View::Zext(condition) = self.view(flag) {
                if self.width(condition) == 1 {
                    let nothing = self.constant(width, 0);
                    return self.ite(condition, other, nothing);
                }
            }
        }
        let mut factors = Vec::with_capacity(MOST_FACTORS);
        for term in [a, b] {
            match self.view(term) {
                View::Product(of) => factors.extend_from_slice(of),
                _ => factors.push(term),
            }
        }
        if factors.len() > MOST_FACTORS {
            factors = vec![a, b];
        }
        factors.sort_unstable();
        self.intern(width, View::Product(&factors))
    }
}

/// Sorts the parts, adds up those of the same term and drops what vanishes.
fn merge(parts: &mut Vec<(Term, u64)>, all: u64) {
    parts.sort_unstable_by_key(|&(term, _)| term);
    let mut kept: usize = 0;
    for next in 0..parts.len() {
        let (term, coefficient) = parts[next];
        match kept.checked_sub(1).map(|last| &mut parts[last]) {
            Some(last) if last.0 == term => last.1 = last.1.wrapping_add(coefficient) & all,
            _ => {
                // What came before is complete: it may have vanished.
                if kept > 0 && parts[kept - 1].1 == 0 {
                    kept -= 1;
                }
                parts[kept] = (term, coefficient & all);
                kept += 1;
            }
        }
    }
    if kept > 0 && parts[kept - 1].1 == 0 {
        kept -= 1;
    }
    parts.truncate(kept);
}
