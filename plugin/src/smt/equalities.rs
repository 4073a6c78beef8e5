//! Equations among the facts are used up before the solver sees them: each that can be solved for a variable
//! removes it everywhere (Wu 4.3.2 does this with union-find over variables; here the other side may be any term,
//! so that it also brings addresses into the form that is compared without a solver).
//!
//! Only facts that always hold take part: what guards say must be told apart in a proof.

use super::bits::{inverse_of_odd, mask, Binary};
use super::terms::{Term, Terms, View};
use std::collections::{HashMap, HashSet};

/// Rounds of solving: an equation may become solvable when others have been used.
const ROUNDS: usize = 4;
/// Terms looked at to find out whether a definition is circular.
const SEARCH: usize = 2000;

/// What stands for each variable that was solved for.
#[derive(Default)]
pub(super) struct Substitution {
    definitions: HashMap<Term, Term>,
    /// Terms with all definitions in place.
    done: HashMap<Term, Term>,
    newest: HashMap<Term, Term>,
}

impl Substitution {
    /// Solves what can be solved, and returns the facts that remain: conjunctions taken apart, trivial ones left
    /// out, none twice.
    pub fn of(terms: &mut Terms, always: &[Term]) -> (Substitution, Vec<Term>) {
        let mut known = Substitution::default();
        let mut facts = conjuncts(terms, always);
        for _ in 0..ROUNDS {
            let before = known.definitions.len();
            let mut waiting = Vec::new();
            // First those that define the newest variable by older ones: they cannot be circular.
            for &fact in &facts {
                match known.solved_for_newest(terms, fact) {
                    Some((variable, definition)) if !known.definitions.contains_key(&variable) => {
                        known.definitions.insert(variable, definition);
                    }
                    _ => waiting.push(fact),
                }
            }
            for fact in waiting {
                for (variable, coefficient) in solvable(terms, fact) {
                    let is_new = !known.definitions.contains_key(&variable);
                    let definition = is_new.then(|| solution(terms, fact, variable, coefficient));
                    if let Some(definition) = definition {
                        if !known.leads_to(terms, definition, variable) {
                            known.definitions.insert(variable, definition);
                            break;
                        }
                    }
                }
            }
            if known.definitions.len() == before {
                break;
            }
            known.done.clear();
            let mut rewritten: Vec<Term> = Vec::with_capacity(facts.len());
            for fact in facts {
                rewritten.push(known.apply(terms, fact));
            }
            facts = conjuncts(terms, &rewritten);
        }
        (known, facts)
    }

    /// The term with definitions in place of variables.
    pub fn apply(&mut self, terms: &mut Terms, term: Term) -> Term {
        if self.definitions.is_empty() {
            return term;
        }
        let mut open = vec![term];
        while let Some(&next) = open.last() {
            if self.done.contains_key(&next) {
                open.pop();
                continue;
            }
            let waiting = open.len();
            if let Some(&definition) = self.definitions.get(&next) {
                if !self.done.contains_key(&definition) {
                    open.push(definition);
                }
            } else {
                terms.operands(next, |operand| {
                    if !self.done.contains_key(&operand) {
                        open.push(operand);
                    }
                });
            }
            if open.len() > waiting {
                continue;
            }
            open.pop();
            let result = match self.definitions.get(&next) {
                Some(definition) => self.done[definition],
                None => terms.rebuilt(next, &|operand| self.done[&operand]),
            };
            self.done.insert(next, result);
        }
        self.done[&term]
    }

    /// A fact as a definition of its newest variable.
    fn solved_for_newest(&mut self, terms: &mut Terms, fact: Term) -> Option<(Term, Term)> {
        let newest = self.newest(terms, fact)?;
        let (variable, coefficient) = solvable(terms, fact).into_iter().find(|&(term, _)| term == newest)?;
        let definition = solution(terms, fact, variable, coefficient);
        (self.newest(terms, definition) != Some(variable)).then_some((variable, definition))
    }

    /// The newest variable in a term.
    fn newest(&mut self, terms: &Terms, term: Term) -> Option<Term> {
        let mut open = vec![term];
        while let Some(&next) = open.last() {
            if self.newest.contains_key(&next) || terms.as_constant(next).is_some() {
                open.pop();
                continue;
            }
            let waiting = open.len();
            let mut newest = terms.is_variable(next).then_some(next);
            terms.operands(next, |operand| match self.newest.get(&operand) {
                Some(&found) => newest = newest.max(Some(found)),
                None if terms.as_constant(operand).is_some() => {}
                None => open.push(operand),
            });
            if open.len() == waiting {
                open.pop();
                if let Some(newest) = newest {
                    self.newest.insert(next, newest);
                } else {
                    // Not in normal form: a term of constants only.
                    return None;
                }
            }
        }
        self.newest.get(&term).copied()
    }

    /// The term contains the variable, directly or through definitions; or it is too large to know.
    fn leads_to(&self, terms: &Terms, term: Term, variable: Term) -> bool {
        let mut seen = HashSet::from([term]);
        let mut open = vec![term];
        while let Some(next) = open.pop() {
            if next == variable || seen.len() > SEARCH {
                return true;
            }
            let mut visit = |term| {
                if seen.insert(term) {
                    open.push(term);
                }
            };
            match self.definitions.get(&next) {
                Some(&definition) => visit(definition),
                None => terms.operands(next, visit),
            }
        }
        false
    }
}

/// Conjunctions taken apart, without what is trivially true and without repetitions.
pub(super) fn conjuncts(terms: &mut Terms, facts: &[Term]) -> Vec<Term> {
    let mut seen = HashSet::new();
    let mut found = Vec::with_capacity(facts.len());
    let mut open: Vec<Term> = facts.iter().rev().copied().collect();
    while let Some(fact) = open.pop() {
        if terms.as_constant(fact) == Some(1) || !seen.insert(fact) {
            continue;
        }
        match terms.view(fact) {
            View::Binary(Binary::And, a, b) => open.extend([b, a]),
            View::Not(of) => match terms.view(of) {
                View::Binary(Binary::Or, a, b) => {
                    let (a, b) = (terms.not(a), terms.not(b));
                    open.extend([b, a]);
                }
                _ => found.push(fact),
            },
            _ => found.push(fact),
        }
    }
    found
}

/// Variables that a fact can be solved for, newest first, with their coefficients.
fn solvable(terms: &mut Terms, fact: Term) -> Vec<(Term, u64)> {
    let (is_negated, of) = match terms.view(fact) {
        View::Not(of) => (true, of),
        _ => (false, fact),
    };
    let mut found = match terms.view(of) {
        View::Variable(_) => vec![(of, 1)],
        View::Binary(Binary::Xor, a, b) => vec![(a, 1), (b, 1)],
        View::Binary(Binary::Eq, a, b) if !is_negated => {
            let gap = terms.sub(a, b);
            terms.affine(gap).parts().to_vec()
        }
        _ => Vec::new(),
    };
    found.retain(|&(term, by)| by & 1 == 1 && terms.is_variable(term));
    found.reverse();
    found
}

/// The value of a variable that [`solvable`] found in the fact.
fn solution(terms: &mut Terms, fact: Term, variable: Term, coefficient: u64) -> Term {
    let is_negated = matches!(terms.view(fact), View::Not(_));
    let of = match terms.view(fact) {
        View::Not(of) => of,
        _ => fact,
    };
    match terms.view(of) {
        View::Binary(Binary::Xor, a, b) => {
            let other = if a == variable { b } else { a };
            if is_negated {
                other
            } else {
                terms.not(other)
            }
        }
        View::Binary(Binary::Eq, a, b) => {
            let width = terms.width(a);
            let gap = terms.sub(a, b);
            // coefficient * variable + rest == 0
            let rest = terms.linear(width, &[(gap, 1), (variable, coefficient.wrapping_neg())], 0);
            let factor = inverse_of_odd(coefficient).wrapping_neg() & mask(width);
            terms.linear(width, &[(rest, factor)], 0)
        }
        _ => terms.boolean(!is_negated),
    }
}

impl Terms {
    /// The same operation on other operands.
    pub(super) fn rebuilt(&mut self, term: Term, of: &dyn Fn(Term) -> Term) -> Term {
        let width = self.width(term);
        match self.view(term) {
            View::Constant(_) | View::Variable(_) => term,
            View::Sum(parts, constant) => {
                let parts: Vec<_> = parts.iter().map(|&(part, by)| (of(part), by)).collect();
                self.linear(width, &parts, constant)
            }
            View::Product(factors) => {
                let factors: Vec<Term> = factors.iter().map(|&factor| of(factor)).collect();
                factors[1..].iter().fold(factors[0], |product, &factor| self.mul(product, factor))
            }
            View::Binary(op, a, b) => {
                let (a, b) = (of(a), of(b));
                match op {
                    Binary::Udiv => self.udiv(a, b),
                    Binary::Sdiv => self.sdiv(a, b),
                    Binary::Urem => self.urem(a, b),
                    Binary::Srem => self.srem(a, b),
                    Binary::Shl => self.shl(a, b),
                    Binary::Lshr => self.lshr(a, b),
                    Binary::Ashr => self.ashr(a, b),
                    Binary::And => self.and(a, b),
                    Binary::Or => self.or(a, b),
                    Binary::Xor => self.xor(a, b),
                    Binary::Eq => self.eq(a, b),
                    Binary::Ult => self.ult(a, b),
                    Binary::Slt => self.slt(a, b),
                }
            }
            View::Not(a) => self.not(of(a)),
            View::Ite(condition, a, b) => self.ite(of(condition), of(a), of(b)),
            View::Extract(a, low) => self.extract(of(a), low, width),
            View::Zext(a) => self.zext(of(a), width),
            View::Sext(a) => self.sext(of(a), width),
        }
    }
}
