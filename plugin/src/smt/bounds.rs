//! What is known of a term's value without a solver: an unsigned and a signed interval, and the bits that are
//! always zero or always one. Computed once for each term, from its operands; with facts at the leaves
//! (`ranges.rs`) the same rules answer most alias questions.

use super::bits::{apply, mask, signed, signed_max, signed_min, Binary};
use super::terms::{Term, Terms, View};

/// Values outside are impossible. Both intervals and both masks hold together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    /// Least and greatest as unsigned numbers.
    pub unsigned: (u64, u64),
    /// Least and greatest as signed numbers.
    pub signed: (i64, i64),
    /// Bits that are zero.
    pub zeros: u64,
    /// Bits that are one.
    pub ones: u64,
}

impl Bounds {
    /// Nothing is known.
    pub fn full(width: u32) -> Bounds {
        Bounds {
            unsigned: (0, mask(width)),
            signed: (signed_min(width), signed_max(width)),
            zeros: 0,
            ones: 0,
        }
    }

    /// One value.
    pub fn exactly(width: u32, value: u64) -> Bounds {
        let as_signed = signed(width, value);
        Bounds {
            unsigned: (value, value),
            signed: (as_signed, as_signed),
            zeros: !value & mask(width),
            ones: value,
        }
    }

    /// The value, where only one is possible.
    pub fn constant(&self) -> Option<u64> {
        (self.unsigned.0 == self.unsigned.1).then_some(self.unsigned.0)
    }

    /// No value is possible: the facts behind this contradict each other.
    pub fn is_empty(&self) -> bool {
        self.unsigned.0 > self.unsigned.1 || self.signed.0 > self.signed.1 || self.zeros & self.ones != 0
    }

    /// What holds if both hold.
    pub fn and(self, other: Bounds, width: u32) -> Bounds {
        Bounds {
            unsigned: (self.unsigned.0.max(other.unsigned.0), self.unsigned.1.min(other.unsigned.1)),
            signed: (self.signed.0.max(other.signed.0), self.signed.1.min(other.signed.1)),
            zeros: self.zeros | other.zeros,
            ones: self.ones | other.ones,
        }
        .sharpened(width)
    }

    /// What holds if one of both holds.
    pub fn or(self, other: Bounds) -> Bounds {
        Bounds {
            unsigned: (self.unsigned.0.min(other.unsigned.0), self.unsigned.1.max(other.unsigned.1)),
            signed: (self.signed.0.min(other.signed.0), self.signed.1.max(other.signed.1)),
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
        }
    }

    /// Low bits that are zero.
    pub fn trailing_zeros(&self) -> u32 {
        self.zeros.trailing_ones()
    }

    /// Never negative as a signed number.
    pub fn is_natural(&self) -> bool {
        self.signed.0 >= 0
    }

    /// The intervals and the bits narrow each other.
    fn sharpened(mut self, width: u32) -> Bounds {
        let all = mask(width);
        for _ in 0..2 {
            self.unsigned.0 = self.unsigned.0.max(self.ones);
            self.unsigned.1 = self.unsigned.1.min(!self.zeros & all);
            if self.is_empty() {
                return self;
            }
            // An unsigned interval on one side of the sign is a signed one, and the other way round.
            let (low, high) = (signed(width, self.unsigned.0), signed(width, self.unsigned.1));
            if (low < 0) == (high < 0) {
                self.signed = (self.signed.0.max(low), self.signed.1.min(high));
            }
            if self.is_empty() {
                return self;
            }
            if (self.signed.0 < 0) == (self.signed.1 < 0) {
                let (low, high) = (self.signed.0 as u64 & all, self.signed.1 as u64 & all);
                self.unsigned = (self.unsigned.0.max(low), self.unsigned.1.min(high));
            }
            if self.is_empty() {
                return self;
            }
            // The leading bits that both ends share are known.
            let differing = self.unsigned.0 ^ self.unsigned.1;
            let shared = all & !(u64::MAX.checked_shr(differing.leading_zeros()).unwrap_or(0));
            self.ones |= self.unsigned.0 & shared;
            self.zeros |= !self.unsigned.0 & shared;
        }
        self
    }

    /// From exact integers: the value is one of `low..=high` modulo 2^width.
    pub fn from_integers(width: u32, low: i128, high: i128) -> Bounds {
        let mut bounds = Bounds::full(width);
        let size = 1i128 << width;
        let Some(span) = high.checked_sub(low) else { return bounds };
        if !(0..size).contains(&span) {
            return bounds;
        }
        let start = low.rem_euclid(size);
        if start + span < size {
            bounds.unsigned = (start as u64, (start + span) as u64);
        }
        let least = i128::from(signed_min(width));
        let start = (start - least).rem_euclid(size) + least;
        if start + span <= i128::from(signed_max(width)) {
            bounds.signed = (start as i64, (start + span) as i64);
        }
        bounds
    }
}

/// The exact integer range of `sum(coefficient * part) + constant`, coefficients and constant read as signed
/// numbers, parts as signed or unsigned ones. None: beyond what 128 bits hold.
pub(super) fn integer_range(
    width: u32,
    parts: &[(Term, u64)],
    constant: u64,
    as_signed: bool,
    of: &mut dyn FnMut(Term) -> Bounds,
) -> Option<(i128, i128)> {
    let start = i128::from(signed(width, constant));
    let (mut low, mut high) = (start, start);
    for &(part, coefficient) in parts {
        let coefficient = i128::from(signed(width, coefficient));
        let bounds = of(part);
        let (least, greatest) = if as_signed {
            (i128::from(bounds.signed.0), i128::from(bounds.signed.1))
        } else {
            (i128::from(bounds.unsigned.0), i128::from(bounds.unsigned.1))
        };
        let (one, other) = (coefficient.checked_mul(least)?, coefficient.checked_mul(greatest)?);
        low = low.checked_add(one.min(other))?;
        high = high.checked_add(one.max(other))?;
    }
    Some((low, high))
}

impl Terms {
    /// The bounds of a term from those of its operands.
    pub(super) fn bounds_from(&self, term: Term, of: &mut dyn FnMut(Term) -> Bounds) -> Bounds {
        let width = self.width(term);
        let all = mask(width);
        let full = Bounds::full(width);
        let bounds = match self.view(term) {
            View::Constant(value) => return Bounds::exactly(width, value),
            View::Variable(_) | View::Not(_) => return full,
            View::Sum(parts, constant) => {
                let mut bounds = full;
                for as_signed in [false, true] {
                    if let Some((low, high)) = integer_range(width, parts, constant, as_signed, of) {
                        bounds = bounds.and(Bounds::from_integers(width, low, high), width);
                    }
                }
                let aligned =
                    parts.iter().map(|&(part, by)| by.trailing_zeros() + of(part).trailing_zeros()).min();
                let low = mask(aligned.unwrap_or(width).clamp(1, width));
                if aligned != Some(0) {
                    bounds.zeros |= !constant & low;
                    bounds.ones |= constant & low;
                }
                bounds
            }
            View::Product(factors) => {
                let mut bounds = full;
                let (mut least, mut greatest) = (1u128, 1u128);
                let (mut low, mut high) = (1i128, 1i128);
                let mut zeros = 0;
                for &factor in factors {
                    let of = of(factor);
                    zeros += of.trailing_zeros();
                    least = least.saturating_mul(of.unsigned.0.into());
                    greatest = greatest.saturating_mul(of.unsigned.1.into());
                    let ends = [low, high].map(|end| {
                        [of.signed.0, of.signed.1].map(|factor| end.saturating_mul(i128::from(factor)))
                    });
                    let ends = [ends[0][0], ends[0][1], ends[1][0], ends[1][1]];
                    low = ends.into_iter().min().unwrap_or(i128::MIN);
                    high = ends.into_iter().max().unwrap_or(i128::MAX);
                }
                if greatest <= u128::from(all) {
                    bounds.unsigned = (least as u64, greatest as u64);
                }
                if low >= i128::from(signed_min(width)) && high <= i128::from(signed_max(width)) {
                    bounds.signed = (low as i64, high as i64);
                }
                if zeros > 0 {
                    bounds.zeros |= mask(zeros.min(width));
                }
                bounds
            }
            View::Binary(op, a, b) => {
                if op.is_comparison() {
                    return full;
                }
                binary(op, width, of(a), of(b))
            }
            View::Ite(_, a, b) => of(a).or(of(b)),
            View::Extract(of_term, low) => {
                let of = of(of_term);
                let mut bounds = full;
                bounds.zeros = (of.zeros >> low) & all;
                bounds.ones = (of.ones >> low) & all;
                if of.unsigned.1 >> low <= all {
                    bounds.unsigned = (of.unsigned.0 >> low, of.unsigned.1 >> low);
                }
                bounds
            }
            View::Zext(from) => {
                let narrow = mask(self.width(from));
                let of = of(from);
                let (least, greatest) = of.unsigned;
                Bounds {
                    unsigned: of.unsigned,
                    signed: (least as i64, greatest as i64),
                    zeros: of.zeros | (all & !narrow),
                    ones: of.ones,
                }
            }
            View::Sext(from) => {
                let of = of(from);
                let mut bounds = full;
                bounds.signed = of.signed;
                let high = all & !mask(self.width(from));
                bounds.zeros = of.zeros | if of.is_natural() { high } else { 0 };
                bounds.ones = of.ones | if of.signed.1 < 0 { high } else { 0 };
                bounds
            }
        };
        bounds.sharpened(width)
    }
}

fn binary(op: Binary, width: u32, a: Bounds, b: Bounds) -> Bounds {
    let all = mask(width);
    let mut bounds = Bounds::full(width);
    match op {
        Binary::Udiv if b.unsigned.0 > 0 => {
            bounds.unsigned = (a.unsigned.0 / b.unsigned.1, a.unsigned.1 / b.unsigned.0);
        }
        Binary::Sdiv if b.signed.0 > 0 => {
            let ends = [a.signed.0, a.signed.1].map(|end| [end / b.signed.0, end / b.signed.1]);
            bounds.signed = (ends[0][0].min(ends[0][1]), ends[1][0].max(ends[1][1]));
        }
        Binary::Urem => {
            bounds.unsigned.1 = a.unsigned.1;
            if b.unsigned.0 > 0 {
                bounds.unsigned.1 = a.unsigned.1.min(b.unsigned.1 - 1);
            }
        }
        Binary::Srem => {
            bounds.signed = (a.signed.0.min(0), a.signed.1.max(0));
            if b.signed.0 > 0 {
                let most = b.signed.1 - 1;
                bounds.signed = (bounds.signed.0.max(-most), bounds.signed.1.min(most));
            }
        }
        Binary::Shl if a.trailing_zeros() > 0 => bounds.zeros = mask(a.trailing_zeros().min(width)),
        Binary::Lshr => {
            let least = b.unsigned.0.min(63) as u32;
            bounds.unsigned.1 = if b.unsigned.0 >= u64::from(width) { 0 } else { a.unsigned.1 >> least };
        }
        Binary::Ashr => bounds.signed = (a.signed.0.min(0), a.signed.1.max(-1)),
        Binary::And => {
            bounds.zeros = a.zeros | b.zeros;
            bounds.ones = a.ones & b.ones;
            bounds.unsigned.1 = a.unsigned.1.min(b.unsigned.1);
        }
        Binary::Or => {
            bounds.zeros = a.zeros & b.zeros;
            bounds.ones = a.ones | b.ones;
            bounds.unsigned.0 = a.unsigned.0.max(b.unsigned.0);
        }
        Binary::Xor => {
            bounds.zeros = (a.zeros & b.zeros) | (a.ones & b.ones);
            bounds.ones = (a.zeros & b.ones) | (a.ones & b.zeros);
        }
        _ => {}
    }
    bounds.zeros &= all;
    bounds
}

/// Whether `a op b` has one value for all values within the bounds.
pub(super) fn compare(op: Binary, width: u32, a: &Bounds, b: &Bounds) -> Option<bool> {
    if let (Some(a), Some(b)) = (a.constant(), b.constant()) {
        return Some(apply(op, width, a, b) == 1);
    }
    let always = match op {
        Binary::Ult => a.unsigned.1 < b.unsigned.0,
        Binary::Slt => a.signed.1 < b.signed.0,
        _ => false,
    };
    let never = match op {
        Binary::Ult => a.unsigned.0 >= b.unsigned.1,
        Binary::Slt => a.signed.0 >= b.signed.1,
        Binary::Eq => {
            a.unsigned.1 < b.unsigned.0
                || b.unsigned.1 < a.unsigned.0
                || a.signed.1 < b.signed.0
                || b.signed.1 < a.signed.0
                || a.zeros & b.ones != 0
                || a.ones & b.zeros != 0
        }
        _ => false,
    };
    match (always, never) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}
