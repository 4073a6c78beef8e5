//! The pool of terms. A term is a number; the same expression is always the same number (hash-consing), so that
//! equality is a comparison and everything about a term is computed once. Operands have smaller numbers than what
//! they are in, hence a loop over numbers is a walk in dependency order.
//!
//! Only `simplify.rs`, `widths.rs`, `logic.rs` and `affine.rs` make nodes, and they make them in a normal form.

use super::bits::{mask, Binary};
use super::bounds::Bounds;
use super::lemmas::is_operation;
use super::widths::Change;
use std::collections::HashMap;

/// A bit-vector expression of 1 to 64 bits in a [`Terms`]; a boolean has one bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Term(pub(super) u32);

impl Term {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a term is stored.
#[derive(Clone, Copy)]
enum Node {
    Constant(u64),
    Variable(u32),
    Sum { first: u32, count: u32, constant: u64 },
    Product { first: u32, count: u32 },
    Binary(Binary, Term, Term),
    Not(Term),
    Ite(Term, Term, Term),
    Extract(Term, u8),
    Zext(Term),
    Sext(Term),
}

/// What a term is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum View<'a> {
    /// A number.
    Constant(u64),
    /// An unknown, by its index among the variables.
    Variable(u32),
    /// `sum(coefficient * part) + constant`: at least two of these, parts ascending, coefficients not zero, no part
    /// a constant, none a sum unless the whole would be too long.
    Sum(&'a [(Term, u64)], u64),
    /// Two or more factors, ascending, none a constant or a product unless the whole would be too long.
    Product(&'a [Term]),
    /// One of the other operations.
    Binary(Binary, Term, Term),
    /// Negation of a boolean. (Of a wider term it is the sum `-1 - t`.)
    Not(Term),
    /// If, then, else.
    Ite(Term, Term, Term),
    /// Bits from this one up; how many, the width says.
    Extract(Term, u32),
    /// Wider by zeros.
    Zext(Term),
    /// Wider by copies of the sign.
    Sext(Term),
}

/// The pool. It lives as long as the questions' caches do: over all rounds of a specialization.
pub struct Terms {
    nodes: Vec<Node>,
    widths: Vec<u8>,
    bounds: Vec<Bounds>,
    /// By term: lemmas speak of it or of a part of it.
    operations: Vec<bool>,
    hashes: Vec<u32>,
    /// Parts of all sums.
    parts: Vec<(Term, u64)>,
    /// Factors of all products.
    factors: Vec<Term>,
    /// Open addressing by hash; 0 is empty, else a term's number plus one.
    table: Vec<u32>,
    /// By variable index: the term, and what the caller calls it.
    variables: Vec<(Term, Option<Box<str>>)>,
    keyed: HashMap<(u64, u32), Term>,
    /// Spare memory of sums under construction.
    pub(super) scratch: Vec<(Term, u64)>,
    /// Changes of width that were made.
    pub(super) changes: HashMap<(Term, Change, u32), Term>,
    /// How many changes of width are under way.
    pub(super) depth: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Terms::new()
    }
}

impl Terms {
    /// An empty pool.
    pub fn new() -> Terms {
        Terms {
            nodes: Vec::new(),
            widths: Vec::new(),
            bounds: Vec::new(),
            operations: Vec::new(),
            hashes: Vec::new(),
            parts: Vec::new(),
            factors: Vec::new(),
            table: vec![0; 1024],
            variables: Vec::new(),
            keyed: HashMap::new(),
            scratch: Vec::new(),
            changes: HashMap::new(),
            depth: 0,
        }
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// No term has been made.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Bits of a term.
    pub fn width(&self, term: Term) -> u32 {
        u32::from(self.widths[term.index()])
    }

    /// The number, if the term is one.
    pub fn as_constant(&self, term: Term) -> Option<u64> {
        match self.nodes[term.index()] {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The term is a variable.
    pub fn is_variable(&self, term: Term) -> bool {
        matches!(self.nodes[term.index()], Node::Variable(_))
    }

    /// A number; bits beyond the width are ignored.
    ///
    /// # Panics
    /// Where the width is not in 1..=64, as all other operations do where widths do not fit.
    pub fn constant(&mut self, width: u32, value: u64) -> Term {
        assert!((1..=64).contains(&width), "a term of {width} bits");
        self.intern(width, View::Constant(value & mask(width)))
    }

    /// The boolean `value`.
    pub fn boolean(&mut self, value: bool) -> Term {
        self.constant(1, u64::from(value))
    }

    /// A new unknown.
    pub fn variable(&mut self, width: u32) -> Term {
        self.new_variable(width, None)
    }

    /// A new unknown, with a name for people who read terms.
    pub fn variable_named(&mut self, width: u32, name: &str) -> Term {
        self.new_variable(width, Some(name.into()))
    }

    /// The unknown of this width and key: the same one whenever it is asked for, so that questions of an earlier
    /// round are recognized.
    pub fn variable_keyed(&mut self, width: u32, key: u64) -> Term {
        if let Some(&known) = self.keyed.get(&(key, width)) {
            return known;
        }
        let term = self.new_variable(width, None);
        self.keyed.insert((key, width), term);
        term
    }

    /// Names a variable, for people who read terms.
    pub fn name(&mut self, variable: Term, name: &str) {
        if let Node::Variable(index) = self.nodes[variable.index()] {
            self.variables[index as usize].1 = Some(name.into());
        }
    }

    fn new_variable(&mut self, width: u32, name: Option<Box<str>>) -> Term {
        assert!((1..=64).contains(&width), "a variable of {width} bits");
        let index = self.variables.len() as u32;
        let term = self.intern(width, View::Variable(index));
        self.variables.push((term, name));
        term
    }

    pub(super) fn variable_at(&self, index: u32) -> Option<Term> {
        self.variables.get(index as usize).map(|(term, _)| *term)
    }

    pub(super) fn name_of(&self, index: u32) -> Option<&str> {
        self.variables.get(index as usize).and_then(|(_, name)| name.as_deref())
    }

    /// What is known of the value whatever the variables are.
    pub(super) fn bounds(&self, term: Term) -> Bounds {
        self.bounds[term.index()]
    }

    /// Lemmas speak of the term or of a part of it.
    pub(super) fn has_operation(&self, term: Term) -> bool {
        self.operations[term.index()]
    }

    pub(super) fn view(&self, term: Term) -> View<'_> {
        match self.nodes[term.index()] {
            Node::Constant(value) => View::Constant(value),
            Node::Variable(index) => View::Variable(index),
            Node::Sum { first, count, constant } => {
                View::Sum(&self.parts[first as usize..(first + count) as usize], constant)
            }
            Node::Product { first, count } => {
                View::Product(&self.factors[first as usize..(first + count) as usize])
            }
            Node::Binary(op, a, b) => View::Binary(op, a, b),
            Node::Not(of) => View::Not(of),
            Node::Ite(condition, a, b) => View::Ite(condition, a, b),
            Node::Extract(of, low) => View::Extract(of, u32::from(low)),
            Node::Zext(of) => View::Zext(of),
            Node::Sext(of) => View::Sext(of),
        }
    }

    /// Calls `visit` for each operand.
    pub(super) fn operands(&self, term: Term, mut visit: impl FnMut(Term)) {
        match self.view(term) {
            View::Constant(_) | View::Variable(_) => {}
            View::Sum(parts, _) => parts.iter().for_each(|&(part, _)| visit(part)),
            View::Product(factors) => factors.iter().for_each(|&factor| visit(factor)),
            View::Binary(_, a, b) => {
                visit(a);
                visit(b);
            }
            View::Ite(condition, a, b) => {
                visit(condition);
                visit(a);
                visit(b);
            }
            View::Not(of) | View::Extract(of, _) | View::Zext(of) | View::Sext(of) => visit(of),
        }
    }

    /// The place of a node in the table: the term that is there, or a free one.
    fn place(&self, hash: u32, width: u32, view: &View<'_>) -> Result<Term, usize> {
        let last = self.table.len() - 1;
        let mut slot = hash as usize & last;
        loop {
            let Some(number) = self.table[slot].checked_sub(1) else { return Err(slot) };
            let term = Term(number);
            if self.hashes[term.index()] == hash && self.width(term) == width && self.view(term) == *view {
                return Ok(term);
            }
            slot = (slot + 1) & last;
        }
    }

    /// The negation of a boolean, if it is a term already.
    pub(super) fn negation_of(&self, boolean: Term) -> Option<Term> {
        match self.view(boolean) {
            View::Not(of) => Some(of),
            _ => self.place(hash_of(1, &View::Not(boolean)), 1, &View::Not(boolean)).ok(),
        }
    }

    /// The term for a node that is in normal form.
    pub(super) fn intern(&mut self, width: u32, view: View<'_>) -> Term {
        let hash = hash_of(width, &view);
        let slot = match self.place(hash, width, &view) {
            Ok(known) => return known,
            Err(slot) => slot,
        };
        let number = u32::try_from(self.nodes.len()).ok().filter(|&number| number < u32::MAX - 1);
        let term = Term(number.expect("fewer than 2^32 terms"));
        let node = match view {
            View::Constant(value) => Node::Constant(value),
            View::Variable(index) => Node::Variable(index),
            View::Sum(parts, constant) => {
                let first = self.parts.len() as u32;
                self.parts.extend_from_slice(parts);
                Node::Sum { first, count: parts.len() as u32, constant }
            }
            View::Product(factors) => {
                let first = self.factors.len() as u32;
                self.factors.extend_from_slice(factors);
                Node::Product { first, count: factors.len() as u32 }
            }
            View::Binary(op, a, b) => Node::Binary(op, a, b),
            View::Not(of) => Node::Not(of),
            View::Ite(condition, a, b) => Node::Ite(condition, a, b),
            View::Extract(of, low) => Node::Extract(of, low as u8),
            View::Zext(of) => Node::Zext(of),
            View::Sext(of) => Node::Sext(of),
        };
        self.nodes.push(node);
        self.widths.push(width as u8);
        self.hashes.push(hash);
        self.table[slot] = term.0 + 1;
        let bounds = self.bounds_from(term, &mut |operand| self.bounds[operand.index()]);
        self.bounds.push(bounds);
        let mut has_operation = is_operation(self, term);
        self.operands(term, |operand| has_operation |= self.operations[operand.index()]);
        self.operations.push(has_operation);
        if self.nodes.len() * 2 > self.table.len() {
            self.grow();
        }
        term
    }

    fn grow(&mut self) {
        let last = self.table.len() * 2 - 1;
        let mut table = vec![0; last + 1];
        for (number, &hash) in self.hashes.iter().enumerate() {
            let mut slot = hash as usize & last;
            while table[slot] != 0 {
                slot = (slot + 1) & last;
            }
            table[slot] = number as u32 + 1;
        }
        self.table = table;
    }

    /// The variables in a term, ascending.
    pub fn variables(&self, term: Term) -> Vec<Term> {
        let mut found = Vec::new();
        self.walk(&[term], |term| {
            if self.is_variable(term) {
                found.push(term);
            }
        });
        found.sort_unstable();
        found
    }

    /// Visits each term that the roots are made of, once.
    pub(super) fn walk(&self, roots: &[Term], mut visit: impl FnMut(Term)) {
        let mut seen: std::collections::HashSet<Term> = roots.iter().copied().collect();
        let mut open: Vec<Term> = seen.iter().copied().collect();
        while let Some(term) = open.pop() {
            visit(term);
            self.operands(term, |operand| {
                if seen.insert(operand) {
                    open.push(operand);
                }
            });
        }
    }
}

/// Multiplicative mixing; the table uses the low bits, so the high ones are folded down.
fn hash_of(width: u32, view: &View<'_>) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = u64::from(width);
    let mut mix = |word: u64| hash = (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    match *view {
        View::Constant(value) => {
            mix(1);
            mix(value);
        }
        View::Variable(index) => {
            mix(2);
            mix(index.into());
        }
        View::Sum(parts, constant) => {
            mix(3);
            mix(constant);
            for &(part, coefficient) in parts {
                mix(part.0.into());
                mix(coefficient);
            }
        }
        View::Product(factors) => {
            mix(4);
            factors.iter().for_each(|factor| mix(factor.0.into()));
        }
        View::Binary(op, a, b) => {
            mix(16 + op as u64);
            mix(u64::from(a.0) << 32 | u64::from(b.0));
        }
        View::Not(of) => {
            mix(5);
            mix(of.0.into());
        }
        View::Ite(condition, a, b) => {
            mix(6);
            mix(condition.0.into());
            mix(u64::from(a.0) << 32 | u64::from(b.0));
        }
        View::Extract(of, low) => {
            mix(7);
            mix(u64::from(of.0) << 32 | u64::from(low));
        }
        View::Zext(of) => {
            mix(8);
            mix(of.0.into());
        }
        View::Sext(of) => {
            mix(9);
            mix(of.0.into());
        }
    }
    (hash >> 32) as u32 ^ (hash as u32 >> 3)
}
