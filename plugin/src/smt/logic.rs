//! Booleans and comparisons in normal form: of the ten comparisons only `=`, unsigned and signed `<` remain, with
//! constants on the right; equations are moved to one canonical side-by-side form.

use super::bits::{apply, inverse_of_odd, mask, signed, signed_max, Binary};
use super::bounds::compare;
use super::terms::{Term, Terms, View};

impl Terms {
    /// `a == b`.
    pub fn eq(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            let differ = self.differ(a, b);
            return self.not(differ);
        }
        if let Some(difference) = self.difference(a, b) {
            return self.boolean(difference == 0);
        }
        let (left, right) = (self.bounds(a), self.bounds(b));
        if let Some(known) = compare(Binary::Eq, width, &left, &right) {
            return self.boolean(known);
        }
        // Everything on one side, then positive coefficients left and negative ones right: whatever was on both
        // sides is gone, and x == y + 1 and x - 1 == y are the same term.
        let gap = self.sub(a, b);
        let affine = self.affine(gap);
        let aligned = affine
            .parts()
            .iter()
            .map(|&(part, by)| by.trailing_zeros() + self.bounds(part).trailing_zeros())
            .min();
        if aligned.is_some_and(|aligned| affine.constant.trailing_zeros() < aligned.min(width)) {
            return self.boolean(false);
        }
        let flip = affine.parts().first().is_some_and(|&(_, by)| signed(width, by) < 0);
        let turn = |value: u64| if flip { value.wrapping_neg() } else { value } & mask(width);
        let constant = turn(affine.constant).wrapping_neg();
        let (mut positive, mut negative) = (Vec::new(), Vec::new());
        for &(part, by) in affine.parts() {
            let by = turn(by);
            if signed(width, by) >= 0 {
                positive.push((part, by));
            } else {
                negative.push((part, by.wrapping_neg()));
            }
        }
        let left = self.linear(width, &positive, 0);
        let right = self.linear(width, &negative, constant);
        self.equation(width, left, right)
    }

    /// An equation whose sides have nothing in common.
    fn equation(&mut self, width: u32, a: Term, b: Term) -> Term {
        for by_sign in [false, true] {
            if let Some((a, b)) = self.narrowed(a, b, by_sign) {
                return self.eq(a, b);
            }
        }
        if let Some(decided) = self.by_cases(Binary::Eq, width, a, b) {
            return decided;
        }
        for (side, other) in [(a, b), (b, a)] {
            let Some(value) = self.as_constant(other) else { continue };
            if let View::Sum(&[(part, by)], 0) = self.view(side) {
                if by & 1 == 1 {
                    // There is one solution.
                    let solution = self.constant(width, value.wrapping_mul(inverse_of_odd(by)));
                    return self.eq(part, solution);
                }
            }
        }
        self.intern(1, View::Binary(Binary::Eq, a.min(b), a.max(b)))
    }

    /// A comparison of terms that have one value where a condition holds and another where not: the condition, its
    /// negation or a constant.
    fn by_cases(&mut self, op: Binary, width: u32, a: Term, b: Term) -> Option<Term> {
        let (left, right) = (self.cases(a)?, self.cases(b)?);
        let condition = match (left.0, right.0) {
            (Some(one), Some(other)) => (one == other).then_some(one)?,
            (one, other) => one.or(other)?,
        };
        let holds = self.boolean(apply(op, width, left.1, right.1) == 1);
        let fails = self.boolean(apply(op, width, left.2, right.2) == 1);
        Some(self.ite(condition, holds, fails))
    }

    /// The condition on which a term has one of two values, and these; a constant has none.
    fn cases(&self, term: Term) -> Option<(Option<Term>, u64, u64)> {
        let affine = self.affine(term);
        match *affine.parts() {
            [] => Some((None, affine.constant, affine.constant)),
            [(part, by)] => match self.view(part) {
                View::Zext(of) if self.width(of) == 1 => {
                    let more = affine.constant.wrapping_add(by) & mask(self.width(term));
                    Some((Some(of), more, affine.constant))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `a != b`.
    pub fn ne(&mut self, a: Term, b: Term) -> Term {
        let equal = self.eq(a, b);
        self.not(equal)
    }

    /// `a < b`, unsigned.
    pub fn ult(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            let zero = self.not(a);
            return self.and(zero, b);
        }
        if a == b {
            return self.boolean(false);
        }
        if let Some(known) = compare(Binary::Ult, width, &self.bounds(a), &self.bounds(b)) {
            return self.boolean(known);
        }
        if let Some(decided) = self.by_cases(Binary::Ult, width, a, b) {
            return decided;
        }
        // Widening by the sign keeps the unsigned order as well.
        for by_sign in [false, true] {
            if let Some((a, b)) = self.narrowed(a, b, by_sign) {
                return self.ult(a, b);
            }
        }
        if let Some(bound) = self.as_constant(a) {
            // Not the greatest number: its bounds would have decided.
            let above = self.constant(width, bound + 1);
            let below = self.ult(b, above);
            return self.not(below);
        }
        if self.as_constant(b) == Some(1) {
            let zero = self.constant(width, 0);
            return self.eq(a, zero);
        }
        self.intern(1, View::Binary(Binary::Ult, a, b))
    }

    /// `a < b`, signed.
    pub fn slt(&mut self, a: Term, b: Term) -> Term {
        let width = self.same_width(a, b);
        if width == 1 {
            let zero = self.not(b);
            return self.and(a, zero);
        }
        if a == b {
            return self.boolean(false);
        }
        let (left, right) = (self.bounds(a), self.bounds(b));
        if let Some(known) = compare(Binary::Slt, width, &left, &right) {
            return self.boolean(known);
        }
        if left.is_natural() && right.is_natural() {
            return self.ult(a, b);
        }
        if let Some(decided) = self.by_cases(Binary::Slt, width, a, b) {
            return decided;
        }
        if let Some((a, b)) = self.narrowed(a, b, true) {
            return self.slt(a, b);
        }
        if let Some(bound) = self.as_constant(a) {
            debug_assert!(signed(width, bound) < signed_max(width), "decided by its bounds");
            let above = self.constant(width, bound.wrapping_add(1));
            let below = self.slt(b, above);
            return self.not(below);
        }
        self.intern(1, View::Binary(Binary::Slt, a, b))
    }

    /// `a <= b`, unsigned.
    pub fn ule(&mut self, a: Term, b: Term) -> Term {
        let greater = self.ult(b, a);
        self.not(greater)
    }

    /// `a > b`, unsigned.
    pub fn ugt(&mut self, a: Term, b: Term) -> Term {
        self.ult(b, a)
    }

    /// `a >= b`, unsigned.
    pub fn uge(&mut self, a: Term, b: Term) -> Term {
        self.ule(b, a)
    }

    /// `a <= b`, signed.
    pub fn sle(&mut self, a: Term, b: Term) -> Term {
        let greater = self.slt(b, a);
        self.not(greater)
    }

    /// `a > b`, signed.
    pub fn sgt(&mut self, a: Term, b: Term) -> Term {
        self.slt(b, a)
    }

    /// `a >= b`, signed.
    pub fn sge(&mut self, a: Term, b: Term) -> Term {
        self.sle(b, a)
    }

    /// `a` where the condition (a boolean) holds, else `b`.
    pub fn ite(&mut self, condition: Term, a: Term, b: Term) -> Term {
        assert_eq!(self.width(condition), 1, "a condition is a boolean");
        let width = self.same_width(a, b);
        match self.view(condition) {
            View::Constant(value) => return if value == 1 { a } else { b },
            View::Not(of) => return self.ite(of, b, a),
            _ => {}
        }
        // A branch on the same condition is decided here.
        let a = match self.view(a) {
            View::Ite(inner, x, _) if inner == condition => x,
            _ => a,
        };
        let b = match self.view(b) {
            View::Ite(inner, _, y) if inner == condition => y,
            _ => b,
        };
        if a == b {
            return a;
        }
        if width == 1 {
            return self.ite_of_booleans(condition, a, b);
        }
        if let Some(more) = self.difference(a, b) {
            // Two constants, or two places of one object: the condition as a number, times the distance.
            let flag = self.zext(condition, width);
            return self.linear(width, &[(b, 1), (flag, more)], 0);
        }
        self.intern(width, View::Ite(condition, a, b))
    }

    fn ite_of_booleans(&mut self, condition: Term, a: Term, b: Term) -> Term {
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(1), _) => return self.either(condition, b),
            (Some(_), _) => {
                let other = self.not(condition);
                return self.both(other, b);
            }
            (_, Some(1)) => {
                let other = self.not(condition);
                return self.either(other, a);
            }
            (_, Some(_)) => return self.both(condition, a),
            _ => {}
        }
        if self.not(a) == b {
            return self.differ(condition, b);
        }
        self.intern(1, View::Ite(condition, a, b))
    }

    /// Both booleans hold.
    pub(super) fn both(&mut self, a: Term, b: Term) -> Term {
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(0), _) | (_, Some(0)) => return self.boolean(false),
            (Some(_), _) => return b,
            (_, Some(_)) => return a,
            _ => {}
        }
        if a == b {
            return a;
        }
        if self.are_opposite(a, b) {
            return self.boolean(false);
        }
        for (whole, part) in [(a, b), (b, a)] {
            if matches!(self.view(whole), View::Binary(Binary::And, x, y) if x == part || y == part) {
                return whole;
            }
            if matches!(self.view(whole), View::Binary(Binary::Or, x, y) if x == part || y == part) {
                return part;
            }
        }
        self.intern(1, View::Binary(Binary::And, a.min(b), a.max(b)))
    }

    /// One of the booleans holds.
    pub(super) fn either(&mut self, a: Term, b: Term) -> Term {
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(1), _) | (_, Some(1)) => return self.boolean(true),
            (Some(_), _) => return b,
            (_, Some(_)) => return a,
            _ => {}
        }
        if a == b {
            return a;
        }
        if self.are_opposite(a, b) {
            return self.boolean(true);
        }
        for (whole, part) in [(a, b), (b, a)] {
            if matches!(self.view(whole), View::Binary(Binary::Or, x, y) if x == part || y == part) {
                return whole;
            }
            if matches!(self.view(whole), View::Binary(Binary::And, x, y) if x == part || y == part) {
                return part;
            }
        }
        self.intern(1, View::Binary(Binary::Or, a.min(b), a.max(b)))
    }

    /// Just one of the booleans holds.
    pub(super) fn differ(&mut self, a: Term, b: Term) -> Term {
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(0), _) => return b,
            (_, Some(0)) => return a,
            (Some(_), _) => return self.not(b),
            (_, Some(_)) => return self.not(a),
            _ => {}
        }
        // Negations go outside.
        if let View::Not(of) = self.view(a) {
            let inner = self.differ(of, b);
            return self.not(inner);
        }
        if let View::Not(of) = self.view(b) {
            let inner = self.differ(a, of);
            return self.not(inner);
        }
        if a == b {
            return self.boolean(false);
        }
        self.intern(1, View::Binary(Binary::Xor, a.min(b), a.max(b)))
    }

    fn are_opposite(&self, a: Term, b: Term) -> bool {
        matches!(self.view(a), View::Not(of) if of == b) || matches!(self.view(b), View::Not(of) if of == a)
    }

    /// All booleans hold.
    pub fn all(&mut self, booleans: &[Term]) -> Term {
        let mut whole = self.boolean(true);
        for &boolean in booleans {
            whole = self.both(whole, boolean);
        }
        whole
    }

    /// One of the booleans holds.
    pub fn any(&mut self, booleans: &[Term]) -> Term {
        let mut whole = self.boolean(false);
        for &boolean in booleans {
            whole = self.either(whole, boolean);
        }
        whole
    }

    /// `a` is false or `b` holds.
    pub fn implies(&mut self, a: Term, b: Term) -> Term {
        let other = self.not(a);
        self.either(other, b)
    }
}
