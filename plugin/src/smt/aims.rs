//! Changes of one variable that may give a term a wanted value: the operations read backwards, with all other
//! variables as they are. What is proposed here is only tried out (`walk.rs`), so nothing need be exact.

use super::bits::{inverse_of_odd, mask, signed, signed_max, signed_min, Binary};
use super::terms::{Term, Terms, View};

/// How far below a term variables are looked for.
const DEPTH: u32 = 16;
/// Changes that are proposed at once.
pub(super) const CHANGES: usize = 24;

/// A variable and its new value.
pub(super) type Change = (Term, u64);

/// Values of terms, and what is proposed.
pub(super) struct Aims<'a> {
    pub terms: &'a Terms,
    pub value: &'a mut dyn FnMut(Term) -> u64,
    pub changes: Vec<Change>,
}

impl Aims<'_> {
    /// Proposes changes that give the boolean this value, where it has another one.
    pub fn truth(&mut self, boolean: Term, wanted: bool) {
        self.boolean(boolean, wanted, DEPTH);
    }

    /// Proposes changes that give the term another value.
    pub fn other(&mut self, term: Term) {
        let now = (self.value)(term);
        if self.terms.width(term) == 1 {
            return self.boolean(term, now == 0, DEPTH);
        }
        // Aligned to what it may be a multiple of.
        for more in [1, u64::MAX, 8, 64, 4096] {
            self.target(term, now.wrapping_add(more), DEPTH);
        }
    }

    /// Proposes changes that make the term this number.
    fn target(&mut self, term: Term, wanted: u64, depth: u32) {
        let width = self.terms.width(term);
        let wanted = wanted & mask(width);
        let now = (self.value)(term);
        if self.changes.len() >= CHANGES || depth == 0 || now == wanted {
            return;
        }
        if width == 1 {
            return self.boolean(term, wanted == 1, depth);
        }
        let terms = self.terms;
        let depth = depth - 1;
        match terms.view(term) {
            View::Constant(_) | View::Not(_) => {}
            View::Variable(_) => self.changes.push((term, wanted)),
            View::Sum(parts, _) => {
                let more = wanted.wrapping_sub(now) & mask(width);
                for &(part, by) in parts {
                    let zeros = by.trailing_zeros();
                    if more.trailing_zeros() < zeros {
                        continue;
                    }
                    let step = (more >> zeros).wrapping_mul(inverse_of_odd(by >> zeros)) & mask(width);
                    // Dividing by a power of two leaves the high bits open: the short way, up or down.
                    let step = match zeros {
                        0 => step,
                        _ => signed(width - zeros, step & mask(width - zeros)) as u64,
                    };
                    let next = (self.value)(part).wrapping_add(step);
                    self.target(part, next, depth);
                }
            }
            View::Product(factors) => {
                for (at, &factor) in factors.iter().enumerate() {
                    let others = factors.iter().enumerate().filter(|&(other, _)| other != at);
                    let rest =
                        others.fold(1, |rest: u64, (_, &other)| rest.wrapping_mul((self.value)(other)));
                    let rest = rest & mask(width);
                    if rest & 1 == 1 {
                        self.target(factor, wanted.wrapping_mul(inverse_of_odd(rest)), depth);
                    } else if wanted.checked_rem(rest) == Some(0) {
                        self.target(factor, wanted / rest, depth);
                    }
                }
            }
            View::Binary(op, a, b) => self.binary(op, width, a, b, wanted, depth),
            View::Ite(condition, a, b) => {
                let is_first = (self.value)(condition) == 1;
                let (active, other) = if is_first { (a, b) } else { (b, a) };
                self.target(active, wanted, depth);
                if (self.value)(other) == wanted {
                    self.boolean(condition, !is_first, depth);
                }
            }
            View::Extract(of, low) => {
                let rest = (self.value)(of) & !(mask(width) << low);
                self.target(of, rest | wanted << low, depth);
            }
            View::Zext(of) => {
                if wanted <= mask(terms.width(of)) {
                    self.target(of, wanted, depth);
                }
            }
            View::Sext(of) => {
                let inner = terms.width(of);
                if (signed_min(inner)..=signed_max(inner)).contains(&signed(width, wanted)) {
                    self.target(of, wanted, depth);
                }
            }
        }
    }

    fn binary(&mut self, op: Binary, width: u32, a: Term, b: Term, wanted: u64, depth: u32) {
        let (left, right) = ((self.value)(a), (self.value)(b));
        match op {
            Binary::Udiv | Binary::Sdiv => {
                self.target(a, wanted.wrapping_mul(right), depth);
                let by = match op {
                    Binary::Udiv => left.checked_div(wanted),
                    _ => signed(width, left).checked_div(signed(width, wanted)).map(|by| by as u64),
                };
                // A division by zero leads nowhere.
                self.target(b, by.filter(|&by| by != 0).unwrap_or(1), depth);
            }
            Binary::Urem | Binary::Srem => {
                self.target(a, wanted, depth);
                self.target(b, left.wrapping_sub(wanted), depth);
            }
            Binary::Shl => self.target(a, wanted.checked_shr(right as u32).unwrap_or(0), depth),
            Binary::Lshr | Binary::Ashr => {
                self.target(a, wanted.checked_shl(right as u32).unwrap_or(0), depth);
            }
            Binary::And => {
                self.target(a, left & !right | wanted, depth);
                self.target(b, right & !left | wanted, depth);
            }
            Binary::Or => {
                self.target(a, wanted & !right | left & right & wanted, depth);
                self.target(b, wanted & !left | left & right & wanted, depth);
            }
            Binary::Xor => {
                self.target(a, wanted ^ right, depth);
                self.target(b, wanted ^ left, depth);
            }
            Binary::Eq | Binary::Ult | Binary::Slt => {}
        }
    }

    fn boolean(&mut self, boolean: Term, wanted: bool, depth: u32) {
        if self.changes.len() >= CHANGES || depth == 0 || ((self.value)(boolean) == 1) == wanted {
            return;
        }
        let terms = self.terms;
        let depth = depth - 1;
        match terms.view(boolean) {
            View::Variable(_) => self.changes.push((boolean, u64::from(wanted))),
            View::Not(of) => self.boolean(of, !wanted, depth),
            View::Binary(Binary::And | Binary::Or, a, b) => {
                self.boolean(a, wanted, depth);
                self.boolean(b, wanted, depth);
            }
            View::Binary(Binary::Xor, a, b) => {
                let (left, right) = ((self.value)(a), (self.value)(b));
                self.boolean(a, left == 0, depth);
                self.boolean(b, right == 0, depth);
            }
            View::Binary(op @ (Binary::Eq | Binary::Ult | Binary::Slt), a, b) => {
                self.comparison(op, a, b, wanted, depth);
            }
            View::Ite(condition, a, b) => {
                let is_first = (self.value)(condition) == 1;
                let (active, other) = if is_first { (a, b) } else { (b, a) };
                self.boolean(active, wanted, depth);
                if ((self.value)(other) == 1) == wanted {
                    self.boolean(condition, !is_first, depth);
                }
            }
            View::Extract(of, low) => {
                let bit = 1 << low;
                let rest = (self.value)(of) & !bit;
                self.target(of, if wanted { rest | bit } else { rest }, depth);
            }
            _ => {}
        }
    }

    fn comparison(&mut self, op: Binary, a: Term, b: Term, wanted: bool, depth: u32) {
        let width = self.terms.width(a);
        let all = mask(width);
        let (left, right) = ((self.value)(a), (self.value)(b));
        let (for_a, for_b): (Vec<u64>, Vec<u64>) = match (op, wanted) {
            (Binary::Eq, true) => (vec![right], vec![left]),
            (Binary::Eq, false) => {
                (vec![right.wrapping_add(1), right.wrapping_sub(1)], vec![left.wrapping_add(1)])
            }
            (Binary::Ult, true) => {
                (vec![right.wrapping_sub(1), right / 2, 0], vec![left.wrapping_add(1), all])
            }
            // Of all values from b up first the one in the middle: where two ranges of bytes coincide.
            (Binary::Ult, false) => (vec![right + (all - right) / 2, right, all], vec![left, 0]),
            (_, true) => {
                (vec![right.wrapping_sub(1), 0, signed_min(width) as u64], vec![left.wrapping_add(1)])
            }
            (_, false) => (vec![right, signed_max(width) as u64], vec![left, 0]),
        };
        for aim in for_a {
            self.target(a, aim, depth);
        }
        for aim in for_b {
            self.target(b, aim, depth);
        }
    }
}
