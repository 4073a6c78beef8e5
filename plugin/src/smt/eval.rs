//! Values of terms under an assignment, and terms as text.

use super::bits::{apply, mask, signed};
use super::terms::{Term, Terms, View};
use std::fmt;

/// Values of many terms under one assignment. Reused for the next one without clearing its memory.
#[derive(Default)]
pub(super) struct Evaluator {
    values: Vec<u64>,
    /// Which assignment a value belongs to.
    stamps: Vec<u32>,
    now: u32,
    open: Vec<Term>,
}

impl Evaluator {
    /// Forgets the last assignment.
    pub fn restart(&mut self, terms: &Terms) {
        if self.stamps.len() < terms.len() {
            self.stamps.resize(terms.len(), 0);
            self.values.resize(terms.len(), 0);
        }
        if self.now == u32::MAX {
            self.stamps.fill(0);
            self.now = 0;
        }
        self.now += 1;
    }

    /// The value of a term that was there at [`Evaluator::restart`].
    pub fn value(&mut self, terms: &Terms, term: Term, assignment: &dyn Fn(Term) -> u64) -> u64 {
        self.open.clear();
        self.open.push(term);
        while let Some(&next) = self.open.last() {
            if self.stamps[next.index()] == self.now {
                self.open.pop();
                continue;
            }
            let waiting = self.open.len();
            let (stamps, now, open) = (&self.stamps, self.now, &mut self.open);
            terms.operands(next, |operand| {
                if stamps[operand.index()] != now {
                    open.push(operand);
                }
            });
            if self.open.len() == waiting {
                let value = match terms.view(next) {
                    View::Variable(_) => assignment(next) & mask(terms.width(next)),
                    _ => terms.compute(next, &|operand| self.values[operand.index()]),
                };
                self.values[next.index()] = value;
                self.stamps[next.index()] = self.now;
                self.open.pop();
            }
        }
        self.values[term.index()]
    }
}

impl Terms {
    /// The value under an assignment of the variables.
    pub fn eval(&self, term: Term, assignment: &dyn Fn(Term) -> u64) -> u64 {
        let mut evaluator = Evaluator::default();
        evaluator.restart(self);
        evaluator.value(self, term, assignment)
    }

    /// The value of a term that is no variable, from its operands' values.
    fn compute(&self, term: Term, of: &dyn Fn(Term) -> u64) -> u64 {
        let width = self.width(term);
        let value = match self.view(term) {
            View::Constant(value) => value,
            View::Variable(_) => 0,
            View::Sum(parts, constant) => {
                parts.iter().fold(constant, |sum, &(part, by)| sum.wrapping_add(of(part).wrapping_mul(by)))
            }
            View::Product(factors) => {
                factors.iter().fold(1, |product: u64, &factor| product.wrapping_mul(of(factor)))
            }
            View::Binary(op, a, b) => apply(op, self.width(a), of(a), of(b)),
            View::Not(a) => !of(a),
            View::Ite(condition, a, b) => of(if of(condition) == 1 { a } else { b }),
            View::Extract(a, low) => of(a) >> low,
            View::Zext(a) => of(a),
            View::Sext(a) => signed(self.width(a), of(a)) as u64,
        };
        value & mask(width)
    }

    /// The term as text, for people: deep parts are left out.
    pub fn show(&self, term: Term) -> Shown<'_> {
        Shown { terms: self, term, depth: 8 }
    }
}

/// A term as text.
pub struct Shown<'a> {
    terms: &'a Terms,
    term: Term,
    depth: u32,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = self.terms;
        let width = terms.width(self.term);
        let inner = |term| Shown { terms, term, depth: self.depth.saturating_sub(1) };
        let is_leaf = matches!(terms.view(self.term), View::Constant(_) | View::Variable(_));
        if self.depth == 0 && !is_leaf {
            return write!(f, "..");
        }
        match terms.view(self.term) {
            View::Constant(value) if width == 1 => write!(f, "{}", value == 1),
            View::Constant(value) => write!(f, "{}", signed(width, value)),
            View::Variable(index) => match terms.name_of(index) {
                Some(name) => write!(f, "{name}"),
                None => write!(f, "v{index}"),
            },
            View::Sum(parts, constant) => {
                write!(f, "(")?;
                for (place, &(part, by)) in parts.iter().enumerate() {
                    let by = signed(width, by);
                    let sign = match (place, by < 0) {
                        (0, false) => "",
                        (0, true) => "-",
                        (_, false) => " + ",
                        (_, true) => " - ",
                    };
                    write!(f, "{sign}")?;
                    match by.unsigned_abs() {
                        1 => write!(f, "{}", inner(part))?,
                        by => write!(f, "{by}*{}", inner(part))?,
                    }
                }
                match signed(width, constant) {
                    0 => {}
                    plus if plus < 0 => write!(f, " - {}", plus.unsigned_abs())?,
                    plus => write!(f, " + {plus}")?,
                }
                write!(f, ")")
            }
            View::Product(factors) => {
                for (place, &factor) in factors.iter().enumerate() {
                    write!(f, "{}{}", if place == 0 { "" } else { "*" }, inner(factor))?;
                }
                Ok(())
            }
            View::Binary(op, a, b) => write!(f, "({} {} {})", inner(a), op.name(), inner(b)),
            View::Not(a) => write!(f, "!{}", inner(a)),
            View::Ite(condition, a, b) => {
                write!(f, "({} ? {} : {})", inner(condition), inner(a), inner(b))
            }
            View::Extract(a, low) => write!(f, "{}[{}..{}]", inner(a), low, low + width),
            View::Zext(a) => write!(f, "zext{width}({})", inner(a)),
            View::Sext(a) => write!(f, "sext{width}({})", inner(a)),
        }
    }
}
