//! Arithmetic, shifts and bit operations, each brought into normal form as it is made. A rule is here if it makes equal
//! things the same term, or if it saves the solver a multiplier or a divider.

use super::bits::{apply, mask, signed, Binary};
use super::bounds::integer_range;
use super::terms::{Term, Terms, View};

impl Terms {
    /// The width of both operands.
    pub(super) fn same_width(&self, a: Term, b: Term) -> u32 {
        let width = self.width(a);
        assert_eq!(width, self.width(b), "operands of different widths");
        width
    }

    /// The value, if both are constants.
    fn folded(&mut self, op: Binary, width: u32, a: Term, b: Term) -> Option<Term> {
        let (a, b) = (self.as_constant(a)?, self.as_constant(b)?);
        Some(self.constant(width, apply(op, width, a, b)))
    }

    /// `a + b`.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        self.linear(width, &[(a, 1), (b, 1)], 0)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        self.linear(width, &[(a, 1), (b, u64::MAX)], 0)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: Term, b: Term) -> Term {
        match self.same_width(a, b) {
            1 => self.and(a, b),
            width => self.product(width, a, b),
        }
    }

    /// `a / b`, unsigned; all ones where `b` is 0.
    pub fn udiv(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            let zero = self.not(b);
            return self.or(a, zero);
        }
        if let Some(folded) = self.folded(Binary::Udiv, width, a, b) {
            return folded;
        }
        if let Some(by) = self.as_constant(b) {
            if by.is_power_of_two() {
                return self.shift_right(a, by.trailing_zeros());
            }
            if let Some(exact) = self.divided(a, by) {
                return exact;
            }
        }
        if self.bounds(b).constant() == Some(0) {
            return self.constant(width, u64::MAX);
        }
        if self.bounds(a).unsigned.1 < self.bounds(b).unsigned.0 {
            return self.constant(width, 0);
        }
        if self.bounds(b).unsigned.0 > 0 {
            if let Some((a, b)) = self.narrowed(a, b, false) {
                let quotient = self.udiv(a, b);
                return self.zext(quotient, width);
            }
        }
        self.intern(width, View::Binary(Binary::Udiv, a, b))
    }

    /// `a / b`, signed, rounded towards zero; where `b` is 0, 1 for negative `a` and else -1.
    pub fn sdiv(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 || (self.bounds(a).is_natural() && self.bounds(b).is_natural()) {
            return self.udiv(a, b);
        }
        if let Some(folded) = self.folded(Binary::Sdiv, width, a, b) {
            return folded;
        }
        if let Some(by) = self.as_constant(b) {
            match signed(width, by) {
                1 => return a,
                -1 => return self.linear(width, &[(a, u64::MAX)], 0),
                0 => {}
                _ => {
                    if let Some((a, b)) = self.narrowed(a, b, true) {
                        let quotient = self.sdiv(a, b);
                        return self.sext(quotient, width);
                    }
                }
            }
        }
        self.intern(width, View::Binary(Binary::Sdiv, a, b))
    }

    /// `a % b`, unsigned; `a` where `b` is 0.
    pub fn urem(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            let zero = self.not(b);
            return self.and(a, zero);
        }
        if let Some(folded) = self.folded(Binary::Urem, width, a, b) {
            return folded;
        }
        if let Some(by) = self.as_constant(b) {
            if by.is_power_of_two() {
                return self.low_bits(a, by.trailing_zeros());
            }
        }
        if self.bounds(a).unsigned.1 < self.bounds(b).unsigned.0 || self.bounds(b).constant() == Some(0) {
            return a;
        }
        if let Some((a, b)) = self.narrowed(a, b, false) {
            let rest = self.urem(a, b);
            return self.zext(rest, width);
        }
        self.intern(width, View::Binary(Binary::Urem, a, b))
    }

    /// `a % b`, signed, with the sign of `a`; `a` where `b` is 0.
    pub fn srem(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 || (self.bounds(a).is_natural() && self.bounds(b).is_natural()) {
            return self.urem(a, b);
        }
        if let Some(folded) = self.folded(Binary::Srem, width, a, b) {
            return folded;
        }
        if let Some(by) = self.as_constant(b) {
            match signed(width, by) {
                1 | -1 => return self.constant(width, 0),
                0 => return a,
                _ => {
                    if let Some((a, b)) = self.narrowed(a, b, true) {
                        let rest = self.srem(a, b);
                        return self.sext(rest, width);
                    }
                }
            }
        }
        self.intern(width, View::Binary(Binary::Srem, a, b))
    }

    /// `a << b`; 0 where `b` is the width or more.
    pub fn shl(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            let stays = self.not(b);
            return self.and(a, stays);
        }
        if self.as_constant(a) == Some(0) || self.bounds(b).unsigned.0 >= u64::from(width) {
            return self.constant(width, 0);
        }
        match self.as_constant(b) {
            Some(by) => self.linear(width, &[(a, 1 << by)], 0),
            None => self.intern(width, View::Binary(Binary::Shl, a, b)),
        }
    }

    /// `a >> b`, bringing in zeros.
    pub fn lshr(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            let stays = self.not(b);
            return self.and(a, stays);
        }
        if self.as_constant(a) == Some(0) || self.bounds(b).unsigned.0 >= u64::from(width) {
            return self.constant(width, 0);
        }
        match self.as_constant(b) {
            Some(by) => self.shift_right(a, by as u32),
            None => self.intern(width, View::Binary(Binary::Lshr, a, b)),
        }
    }

    /// `a >> b`, bringing in the sign.
    pub fn ashr(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            return a;
        }
        if self.bounds(a).is_natural() {
            return self.lshr(a, b);
        }
        let by = self.as_constant(b).map(|by| by.min(u64::from(width - 1)) as u32);
        match by {
            Some(by) => {
                let high = self.extract(a, by, width - by);
                self.sext(high, width)
            }
            None => self.intern(width, View::Binary(Binary::Ashr, a, b)),
        }
    }

    /// `a & b`.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            return self.both(a, b);
        }
        if let Some(folded) = self.folded(Binary::And, width, a, b) {
            return folded;
        }
        if a == b {
            return a;
        }
        let (left, right) = (self.bounds(a), self.bounds(b));
        let all = mask(width);
        if (left.zeros | right.zeros) == all {
            return self.constant(width, 0);
        }
        // Where one is all ones wherever the other may have a one, it changes nothing.
        if (left.zeros | right.ones) == all {
            return a;
        }
        if (right.zeros | left.ones) == all {
            return b;
        }
        let (a, b) = (a.min(b), a.max(b));
        for (masked, other) in [(b, a), (a, b)] {
            let Some(bits) = self.as_constant(masked) else { continue };
            if bits.wrapping_add(1).is_power_of_two() {
                return self.low_bits(other, bits.trailing_ones());
            }
            if let View::Binary(Binary::And, x, y) = self.view(other) {
                for (x, y) in [(x, y), (y, x)] {
                    if let Some(more) = self.as_constant(y) {
                        let bits = self.constant(width, bits & more);
                        return self.and(x, bits);
                    }
                }
            }
        }
        self.intern(width, View::Binary(Binary::And, a, b))
    }

    /// `a | b`.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            return self.either(a, b);
        }
        if let Some(folded) = self.folded(Binary::Or, width, a, b) {
            return folded;
        }
        if a == b {
            return a;
        }
        let (left, right) = (self.bounds(a), self.bounds(b));
        let all = mask(width);
        if (left.zeros | right.zeros) == all {
            return self.add(a, b);
        }
        if (left.ones | right.zeros) == all {
            return a;
        }
        if (right.ones | left.zeros) == all {
            return b;
        }
        self.intern(width, View::Binary(Binary::Or, a.min(b), a.max(b)))
    }

    /// `a ^ b`.
    pub fn xor(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            return self.differ(a, b);
        }
        if let Some(folded) = self.folded(Binary::Xor, width, a, b) {
            return folded;
        }
        if a == b {
            return self.constant(width, 0);
        }
        if (self.bounds(a).zeros | self.bounds(b).zeros) == mask(width) {
            return self.add(a, b);
        }
        for (flipped, by) in [(a, b), (b, a)] {
            match self.as_constant(by) {
                Some(bits) if bits == mask(width) => return self.not(flipped),
                Some(bits) if bits == 1 << (width - 1) => return self.add(flipped, by),
                _ => {}
            }
        }
        self.intern(width, View::Binary(Binary::Xor, a.min(b), a.max(b)))
    }

    /// The complement; of a boolean its negation.
    pub fn not(&mut self, a: Term) -> Term {
        match (self.width(a), self.view(a)) {
            (1, View::Constant(value)) => self.constant(1, value ^ 1),
            (1, View::Not(of)) => of,
            (1, _) => self.intern(1, View::Not(a)),
            (width, _) => self.linear(width, &[(a, u64::MAX)], u64::MAX),
        }
    }

    /// Bits from `by` up, as a number of the same width.
    fn shift_right(&mut self, a: Term, by: u32) -> Term {
        let width = self.width(a);
        if let Some(exact) = self.divided(a, 1 << by) {
            return exact;
        }
        let high = self.extract(a, by, width - by);
        self.zext(high, width)
    }

    /// The low bits, as a number of the same width.
    fn low_bits(&mut self, a: Term, count: u32) -> Term {
        let width = self.width(a);
        if count == 0 {
            return self.constant(width, 0);
        }
        let low = self.trunc(a, count);
        self.zext(low, width)
    }

    /// `a / by` where the sum does not wrap and all parts are multiples: only the constant is rounded.
    fn divided(&mut self, a: Term, by: u64) -> Option<Term> {
        let width = self.width(a);
        let View::Sum(parts, constant) = self.view(a) else { return None };
        if by <= 1 || parts.iter().any(|&(_, times)| signed(width, times) < 0 || times % by != 0) {
            return None;
        }
        let (_, high) = integer_range(width, parts, 0, false, &mut |part| self.bounds(part))?;
        if high.checked_add(constant.into())? > i128::from(mask(width)) {
            return None;
        }
        let parts: Vec<_> = parts.iter().map(|&(part, times)| (part, times / by)).collect();
        Some(self.linear(width, &parts, constant / by))
    }
}
