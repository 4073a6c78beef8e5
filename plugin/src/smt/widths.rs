//! Changes of width, pushed into what they are of as far as that keeps the value: so that an address is one sum, whatever
//! widths its indices were computed in.

use super::bits::{mask, signed, signed_max, signed_min, Binary};
use super::bounds::integer_range;
use super::terms::{Term, Terms, View};

/// Changes of width that are pushed into their operand. Terms share operands, so each is done once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Change {
    /// Bits from this one up.
    Extract(u32),
    Zext,
    Sext,
}

/// Operands within operands that a change of width is pushed through: a limit to the stack.
const DEEPEST: u32 = 200;

impl Terms {
    /// The result of a change of width, computed once.
    fn remembered(&mut self, key: (Term, Change, u32), compute: impl FnOnce(&mut Terms) -> Term) -> Term {
        if let Some(&known) = self.changes.get(&key) {
            return known;
        }
        let (term, change, width) = key;
        if self.depth >= DEEPEST {
            return match change {
                Change::Extract(low) => self.intern(width, View::Extract(term, low)),
                Change::Zext => self.intern(width, View::Zext(term)),
                Change::Sext => self.intern(width, View::Sext(term)),
            };
        }
        self.depth += 1;
        let result = compute(self);
        self.depth -= 1;
        self.changes.insert(key, result);
        result
    }

    /// The `width` bits of `a` from bit `low` up.
    pub fn extract(&mut self, a: Term, low: u32, width: u32) -> Term {
        let from = self.width(a);
        assert!(width >= 1 && low + width <= from, "bits {low} to {} of {from}", low + width);
        if width == from {
            return a;
        }
        let bounds = self.bounds(a);
        let (zeros, ones) = (bounds.zeros >> low & mask(width), bounds.ones >> low & mask(width));
        if zeros | ones == mask(width) {
            return self.constant(width, ones);
        }
        self.remembered((a, Change::Extract(low), width), |terms| terms.extracted(a, low, width))
    }

    fn extracted(&mut self, a: Term, low: u32, width: u32) -> Term {
        let from = self.width(a);
        match self.view(a) {
            View::Sum(parts, constant) if low == 0 => {
                let parts = parts.to_vec();
                let parts: Vec<_> =
                    parts.into_iter().map(|(part, by)| (self.extract(part, 0, width), by)).collect();
                return self.linear(width, &parts, constant);
            }
            View::Product(factors) if low == 0 => {
                let factors = factors.to_vec();
                let mut product = self.constant(width, 1);
                for factor in factors {
                    let factor = self.extract(factor, 0, width);
                    product = self.mul(product, factor);
                }
                return product;
            }
            View::Binary(op @ (Binary::And | Binary::Or | Binary::Xor), x, y)
                if low == 0 || self.as_constant(x).is_some() || self.as_constant(y).is_some() =>
            {
                let (x, y) = (self.extract(x, low, width), self.extract(y, low, width));
                return match op {
                    Binary::And => self.and(x, y),
                    Binary::Or => self.or(x, y),
                    _ => self.xor(x, y),
                };
            }
            View::Extract(of, by) => return self.extract(of, by + low, width),
            View::Ite(condition, x, y) if self.as_constant(x).is_some() || self.as_constant(y).is_some() => {
                let (x, y) = (self.extract(x, low, width), self.extract(y, low, width));
                return self.ite(condition, x, y);
            }
            View::Zext(of) => {
                let inner = self.width(of);
                if low + width <= inner {
                    return self.extract(of, low, width);
                }
                // What lies wholly above was found to be zero by its bounds.
                let bits = self.extract(of, low, inner - low);
                return self.zext(bits, width);
            }
            View::Sext(of) => {
                let inner = self.width(of);
                if low + width <= inner {
                    return self.extract(of, low, width);
                }
                let low = low.min(inner - 1);
                let bits = self.extract(of, low, inner - low);
                return self.sext(bits, width);
            }
            _ => {}
        }
        if low + 1 == from {
            let zero = self.constant(from, 0);
            return self.slt(a, zero);
        }
        self.intern(width, View::Extract(a, low))
    }

    /// The low `width` bits.
    pub fn trunc(&mut self, a: Term, width: u32) -> Term {
        self.extract(a, 0, width)
    }

    /// Wider by zeros.
    pub fn zext(&mut self, a: Term, width: u32) -> Term {
        let from = self.width(a);
        assert!(width >= from && width <= 64, "from {from} to {width} bits");
        if width == from {
            return a;
        }
        self.remembered((a, Change::Zext, width), |terms| terms.zero_extended(a, width))
    }

    fn zero_extended(&mut self, a: Term, width: u32) -> Term {
        let from = self.width(a);
        match self.view(a) {
            View::Constant(value) => self.constant(width, value),
            View::Zext(of) => self.zext(of, width),
            View::Not(of) => {
                let flag = self.zext(of, width);
                self.linear(width, &[(flag, u64::MAX)], 1)
            }
            View::Sum(parts, constant) => {
                let range = integer_range(from, parts, constant, false, &mut |part| self.bounds(part));
                let size = 1i128 << from;
                // The constant may be meant as a large unsigned number.
                let shift = [0, size].into_iter().find(|shift| {
                    let shifted = |end: i128| end.checked_add(*shift).filter(|end| (0..size).contains(end));
                    range.is_some_and(|(low, high)| shifted(low).is_some() && shifted(high).is_some())
                });
                let Some(shift) = shift else { return self.intern(width, View::Zext(a)) };
                let constant = (i128::from(signed(from, constant)) + shift) as u64;
                let parts = self.widened(parts.to_vec(), from, width, false);
                self.linear(width, &parts, constant)
            }
            View::Product(factors) => {
                let most = factors.iter().map(|&factor| u128::from(self.bounds(factor).unsigned.1));
                if most.fold(1u128, u128::saturating_mul) > u128::from(mask(from)) {
                    return self.intern(width, View::Zext(a));
                }
                let factors = factors.to_vec();
                let mut product = self.constant(width, 1);
                for factor in factors {
                    let factor = self.zext(factor, width);
                    product = self.mul(product, factor);
                }
                product
            }
            _ => self.intern(width, View::Zext(a)),
        }
    }

    /// Wider by copies of the sign.
    pub fn sext(&mut self, a: Term, width: u32) -> Term {
        let from = self.width(a);
        assert!(width >= from && width <= 64, "from {from} to {width} bits");
        if width == from {
            return a;
        }
        if from == 1 {
            let flag = self.zext(a, width);
            return self.linear(width, &[(flag, u64::MAX)], 0);
        }
        if self.bounds(a).is_natural() {
            return self.zext(a, width);
        }
        self.remembered((a, Change::Sext, width), |terms| terms.sign_extended(a, width))
    }

    fn sign_extended(&mut self, a: Term, width: u32) -> Term {
        let from = self.width(a);
        match self.view(a) {
            View::Constant(value) => self.constant(width, signed(from, value) as u64),
            View::Sext(of) => self.sext(of, width),
            View::Sum(parts, constant) => {
                let range = integer_range(from, parts, constant, true, &mut |part| self.bounds(part));
                let exact = range.is_some_and(|(low, high)| {
                    low >= i128::from(signed_min(from)) && high <= i128::from(signed_max(from))
                });
                if !exact {
                    return self.intern(width, View::Sext(a));
                }
                let parts = self.widened(parts.to_vec(), from, width, true);
                self.linear(width, &parts, signed(from, constant) as u64)
            }
            _ => self.intern(width, View::Sext(a)),
        }
    }

    /// Parts of a sum of `from` bits for one of `width` bits that has the same value as an integer.
    fn widened(&mut self, parts: Vec<(Term, u64)>, from: u32, width: u32, by_sign: bool) -> Vec<(Term, u64)> {
        parts
            .into_iter()
            .map(|(part, by)| {
                let part = if by_sign { self.sext(part, width) } else { self.zext(part, width) };
                (part, signed(from, by) as u64)
            })
            .collect()
    }

    /// The operands before they were widened, both in the same way from the same width.
    pub(super) fn narrowed(&mut self, a: Term, b: Term, by_sign: bool) -> Option<(Term, Term)> {
        let inner = |terms: &Terms, term| match terms.view(term) {
            View::Zext(of) if !by_sign => Some(of),
            View::Sext(of) if by_sign => Some(of),
            _ => None,
        };
        match (inner(self, a), inner(self, b)) {
            (Some(a), Some(b)) => (self.width(a) == self.width(b)).then_some((a, b)),
            (Some(narrow), None) => Some((narrow, self.fitting(b, self.width(narrow), by_sign)?)),
            (None, Some(narrow)) => Some((self.fitting(a, self.width(narrow), by_sign)?, narrow)),
            (None, None) => None,
        }
    }

    /// The constant in `width` bits, if it is one that fits.
    fn fitting(&mut self, constant: Term, width: u32, by_sign: bool) -> Option<Term> {
        let value = self.as_constant(constant)?;
        let fits = if by_sign {
            let value = signed(self.width(constant), value);
            (signed_min(width)..=signed_max(width)).contains(&value)
        } else {
            value <= mask(width)
        };
        fits.then(|| self.constant(width, value))
    }
}
