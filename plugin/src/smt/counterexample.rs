//! Counterexamples without the solver: a model of the facts that an earlier check found, with one variable changed
//! so that the claim fails. Most questions that are refuted ask whether two addresses may be the same, and an index
//! that is free to move makes them so. A candidate counts only if facts, context and claim, computed with real
//! arithmetic, say so.

use super::bits::{inverse_of_odd, mask, signed, signed_max, signed_min, Binary};
use super::eval::Evaluator;
use super::near::Neighbourhood;
use super::terms::{Term, Terms, View};
use super::z3::Assignment;

/// Models that are varied, the newest first.
const VARIED: usize = 4;
/// Changes that are tried on each.
const CHANGES: usize = 24;

/// What a search looks at.
pub(super) struct Search<'a> {
    pub terms: &'a Terms,
    /// All facts, guards included, and where their variables occur.
    pub facts: &'a [Term],
    pub neighbourhood: &'a Neighbourhood,
    /// What must hold.
    pub context: &'a [Term],
    /// What is looked for.
    pub aim: Aim,
}

/// What a counterexample shows.
#[derive(Clone, Copy)]
pub(super) enum Aim {
    /// The boolean fails.
    Fails(Term),
    /// The term has another value.
    Differs(Term, u64),
}

impl Search<'_> {
    /// A changed model in which the context holds and the aim is reached.
    pub fn run<'m>(
        &self,
        models: impl Iterator<Item = &'m Assignment>,
        evaluator: &mut Evaluator,
    ) -> Option<Assignment> {
        for model in models.take(VARIED) {
            let mut changes = Vec::new();
            evaluator.restart(self.terms);
            let assign = |variable: Term| model.get(&variable).copied().unwrap_or(0);
            let mut value = |term| evaluator.value(self.terms, term, &assign);
            match self.aim {
                Aim::Fails(claim) => propose(self.terms, claim, false, &mut value, &mut changes),
                Aim::Differs(term, _) => {
                    // Aligned to what it may be a multiple of.
                    for more in [1, u64::MAX, 8, 64, 4096] {
                        shift(self.terms, term, more & mask(self.terms.width(term)), &mut value, &mut changes);
                    }
                }
            }
            changes.truncate(CHANGES);
            for (variable, new) in changes {
                if self.is_counterexample(model, variable, new, evaluator) {
                    let mut changed = model.clone();
                    changed.insert(variable, new);
                    return Some(changed);
                }
            }
        }
        None
    }

    fn is_counterexample(
        &self,
        model: &Assignment,
        variable: Term,
        new: u64,
        evaluator: &mut Evaluator,
    ) -> bool {
        let Some(touched) = self.neighbourhood.touched(variable) else { return false };
        evaluator.restart(self.terms);
        let assign = |asked: Term| match asked == variable {
            true => new,
            false => model.get(&asked).copied().unwrap_or(0),
        };
        let mut value = |term| evaluator.value(self.terms, term, &assign);
        let is_reached = match self.aim {
            Aim::Fails(claim) => value(claim) == 0,
            Aim::Differs(term, constant) => value(term) != constant,
        };
        is_reached
            && self.context.iter().all(|&fact| value(fact) == 1)
            && touched.iter().all(|&place| value(self.facts[place]) == 1)
    }
}

/// Changes of one variable that may give a boolean the wanted value.
fn propose(
    terms: &Terms,
    boolean: Term,
    wanted: bool,
    value: &mut dyn FnMut(Term) -> u64,
    changes: &mut Vec<(Term, u64)>,
) {
    if changes.len() >= CHANGES || (value(boolean) == 1) == wanted {
        return;
    }
    match terms.view(boolean) {
        View::Variable(_) => changes.push((boolean, u64::from(wanted))),
        View::Not(of) => propose(terms, of, !wanted, value, changes),
        View::Binary(Binary::And | Binary::Or, a, b) if terms.width(a) == 1 => {
            propose(terms, a, wanted, value, changes);
            propose(terms, b, wanted, value, changes);
        }
        View::Binary(op @ (Binary::Eq | Binary::Ult | Binary::Slt), a, b) => {
            let width = terms.width(a);
            let all = mask(width);
            let (left, right) = (value(a), value(b));
            // Values of a - b, with b as it is.
            let mut aims: Vec<u64> = match (op, wanted) {
                (Binary::Eq, true) => vec![0],
                (Binary::Eq, false) => vec![left.wrapping_sub(right).wrapping_add(1)],
                (_, true) => vec![u64::MAX],
                (_, false) => vec![0],
            };
            if op == Binary::Ult && !wanted {
                // Of all values from b up, the one in the middle: where two ranges of bytes coincide.
                aims.insert(0, (all - right) / 2);
                aims.push(all - right);
            }
            if op == Binary::Ult && wanted {
                aims.push(right.wrapping_neg());
            }
            for aim in aims {
                let more = aim.wrapping_sub(left.wrapping_sub(right)) & all;
                shift(terms, a, more, value, changes);
                shift(terms, b, more.wrapping_neg() & all, value, changes);
            }
        }
        _ => {}
    }
}

/// Changes of one variable that add `more` to a term.
fn shift(
    terms: &Terms,
    term: Term,
    more: u64,
    value: &mut dyn FnMut(Term) -> u64,
    changes: &mut Vec<(Term, u64)>,
) {
    let width = terms.width(term);
    for &(part, by) in terms.affine(term).parts() {
        let zeros = by.trailing_zeros();
        if more.trailing_zeros() < zeros {
            continue;
        }
        let step = (more >> zeros).wrapping_mul(inverse_of_odd(by >> zeros)) & mask(width);
        // Dividing by a power of two leaves the high bits open: the short way, up or down.
        let step = if zeros > 0 { signed(width - zeros, step & mask(width - zeros)) as u64 } else { step };
        let new = value(part).wrapping_add(step) & mask(width);
        match terms.view(part) {
            View::Variable(_) => changes.push((part, new)),
            View::Zext(of) if terms.is_variable(of) && new <= mask(terms.width(of)) => {
                changes.push((of, new));
            }
            View::Sext(of) if terms.is_variable(of) => {
                let inner = terms.width(of);
                if (signed_min(inner)..=signed_max(inner)).contains(&signed(width, new)) {
                    changes.push((of, new & mask(inner)));
                }
            }
            View::Zext(of) | View::Sext(of) => {
                let inner = terms.width(of);
                let is_sum = matches!(terms.view(of), View::Sum(..));
                if is_sum && changes.len() < CHANGES {
                    shift(terms, of, step & mask(inner), value, changes);
                }
            }
            _ => {}
        }
    }
}
